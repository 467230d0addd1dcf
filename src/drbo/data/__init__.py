"""From a file, a data frame or an array to a checked table; and tables to try things on."""
