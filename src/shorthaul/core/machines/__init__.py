"""Machine files: what they hold, how they are read, and those that come with the package."""
