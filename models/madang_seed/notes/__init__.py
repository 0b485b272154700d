"""The toolkit `notes`: how people ask, what its tools answer, what is said of it."""
