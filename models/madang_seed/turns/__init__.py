"""What a user may want, and the conversation that follows."""
