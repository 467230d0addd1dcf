"""What changes the graph that is shown: pruning, and the member of its class that is drawn."""
