"""Who is near whom: neighborhoods, and the charts of each."""
