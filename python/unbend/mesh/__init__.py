"""Triangle meshes laid flat without a flip."""
