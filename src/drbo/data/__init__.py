"""From a file, a data frame or an array to a checked table; also simulated tables and bundled data sets."""
