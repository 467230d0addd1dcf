"""What computes: threads and devices."""
