"""Neighborhoods, and the charts of each."""
