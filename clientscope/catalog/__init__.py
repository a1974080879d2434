"""Catalogue of Kafka's clients, as data: their settings, each library's names for them, releases, and which settings are sensitive."""
