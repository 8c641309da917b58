"""Estimators without a neighborhood graph."""
