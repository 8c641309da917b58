"""The parameters and attributes of all estimators, with their texts."""
