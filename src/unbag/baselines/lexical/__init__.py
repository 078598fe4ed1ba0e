"""What a bag of words knows: lexical features and the models on them."""
