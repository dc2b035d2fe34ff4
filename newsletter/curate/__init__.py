"""What belongs to a topic, and in which words: entries in, decisions and texts out. Pure."""
