"""The bundled model of Madang: its dialogues, tokenizer, training and export."""
