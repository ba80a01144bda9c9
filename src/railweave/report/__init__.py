"""Views: values shown to a person, as JSON or as markdown. No logic."""
