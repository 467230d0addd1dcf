"""The search for cheap scores: climbs over node orders with the true score."""
