"""The estimators: parameters, documentation, and `fit` as scikit-learn has it."""
