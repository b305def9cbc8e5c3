"""How the static embedding cuts a text; internal/model/static cuts the same way."""

MAX_WORD = 40  # runes; what is longer is no word
MAX_HAN = 6    # runes of the longest word of a script without spaces
MIN_PART = 3   # runes of a part of a word that is not known as a whole
PART = 0.5     # how much such a part counts


def unspaced(c):
    """Is c of a script that puts no spaces between words?"""
    o = ord(c)
    return 0x3041 <= o <= 0x30FF or 0x3400 <= o <= 0x9FFF or 0xF900 <= o <= 0xFAFF or o == 0x3005


def runs(text):
    """Yields runs of letters: lower-case words, and stretches without spaces."""
    word, kind, last = [], None, ""
    for c in text:
        k = None
        if unspaced(c):
            k = "unspaced"
        elif c.isalpha():
            k = "word"
        if word and (k != kind or k == "word" and c.isupper() and last.islower()):
            yield kind, "".join(word).lower()
            word = []
        if k:
            word.append(c)
        kind, last = k, c
    if word:
        yield kind, "".join(word).lower()


def tokens(text, known, limit=400):
    """Returns the words of text that are known, each with how much it counts."""
    out = []
    for kind, run in runs(text):
        if len(out) >= limit:
            break
        if kind == "unspaced":
            i = 0
            while i < len(run):
                for n in range(min(MAX_HAN, len(run) - i), 0, -1):
                    if run[i:i + n] in known:
                        out.append((run[i:i + n], 1.0))
                        i += n
                        break
                else:
                    i += 1
        elif run in known:
            out.append((run, 1.0))
        elif len(run) <= MAX_WORD:
            i = 0
            while i + MIN_PART <= len(run):
                for n in range(len(run) - i, MIN_PART - 1, -1):
                    if run[i:i + n] in known:
                        out.append((run[i:i + n], PART))
                        i += n
                        break
                else:
                    i += 1
    return out[:limit]
