"""What may be said about the best graph: margins, other classes, posteriors, resampling, reasons."""
