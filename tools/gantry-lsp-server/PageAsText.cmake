# Writes the file PAGE as a literal of C++ to the file TEXT.
file(READ ${PAGE} page)
file(WRITE ${TEXT} "R\"page(${page})page\"\n")
