"""What goes to the Hub, and how."""
