"""Claims that may deny the directions of arrows, one module each."""
