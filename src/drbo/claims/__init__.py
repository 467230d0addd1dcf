"""What may be claimed about the best graph: margins, other classes, posteriors, resampling, reasons for directions."""
