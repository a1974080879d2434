"""What is known of Kafka's clients, as data: their settings, each library's names for them, releases, and what is sensitive."""
