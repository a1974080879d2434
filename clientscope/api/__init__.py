"""What the JSON API of ``clientscope serve`` takes and answers, as models: serve answers with them, and commands that ask it read them."""
