"""Parts of ``clientscope findings``: reading the topic, selecting, showing, and recording decisions."""
