"""Arrays, random streams, progress, memory: what every room uses."""
