#!/usr/bin/env bash
# Builds the documentation with a search and references of C, C++, Fortran, Python, and Rust into build/site.
#
#   scripts/docs.sh            all of it; the Rust reference compiles the crates, which takes minutes
#   scripts/docs.sh pages      without the Rust reference
#   scripts/docs.sh serve      the pages on http://127.0.0.1:8000, without the Rust reference
#
# The pages are those of the repository; their links work there and in the site. Tools are installed into build/docs-venv.
. "$(dirname "$0")/lib.sh"
what=${1:-all}
case $what in all | pages | serve) ;; *) die "unknown argument $what; expected pages, serve, or none" ;; esac
export NO_MKDOCS_2_WARNING=1
source=$root/build/docs-source site=$root/build/site

need python3 python3
python3 -c 'import venv, ensurepip' 2>/dev/null || packages python3-venv
if [ ! -x build/docs-venv/bin/mkdocs ]; then
  say "installing MkDocs"
  python3 -m venv build/docs-venv
  build/docs-venv/bin/python -m pip install --quiet mkdocs==1.6.1 mkdocs-material==9.8.2 'mkdocstrings[python]==1.0.8'
fi

# A copy of the tree without code of the library: pages, and the files that they link to.
rm -rf "$source"
mkdir -p "$source/reference"
git ls-files --cached --others --exclude-standard '*.md' docs examples include presets hdf5-filter/fzgm_hdf5.h hdf5-filter/fzgm_hdf5_chunks.h \
  hdf5-filter/python/fzgm_hdf5.py src/base/dtype.rs tests/reference/fzm_reader.py LICENSE ':!python/README.md' ':!fuzz' ':!tests/*.md' ':!*.f32' \
  | while read -r file; do
    mkdir -p "$source/$(dirname "$file")"
    cp "$file" "$source/$file"
  done
mv "$source/README.md" "$source/index.md"
# Links to the page that is called index.md in the site.
grep -rlE '\]\((\.\./)*README\.md[)#]' "$source" --include='*.md' | xargs -r sed -i -E 's/\]\(((\.\.\/)+)README\.md([)#])/](\1index.md\3/g'

# header <title> <language> <file>: a page with a header.
header() {
  printf '# %s\n\n```%s title="%s"\n' "$1" "$2" "$3"
  cat "$3"
  printf '```\n'
}
header "C" c include/fzgm.h >"$source/reference/c.md"
header "C++" cpp include/fzgm.hpp >"$source/reference/cpp.md"
header "Fortran" fortran include/fzgm.f90 >"$source/reference/fortran.md"
header "HDF5" c hdf5-filter/fzgm_hdf5.h >"$source/reference/hdf5.md"
for module in fzgm fzgm.hdf5 fzgm.zarr fzgm.numcodecs; do
  printf '# %s\n\n::: %s\n' "$module" "$module" >"$source/reference/python-${module//./-}.md"
done
if [ "$what" = all ]; then rust="The reference of the crate is [here](../rust/fzgm/index.html)."; else rust="Build the site without an argument, or run \`cargo doc --open\`."; fi
printf '# Rust\n\n%s\n' "$rust" >"$source/reference/rust.md"

if [ "$what" = serve ]; then exec build/docs-venv/bin/mkdocs serve --quiet --config-file scripts/mkdocs.yml; fi
say "pages"
build/docs-venv/bin/mkdocs build --quiet --strict --config-file scripts/mkdocs.yml
if [ "$what" = all ]; then
  say "Rust reference"
  need_rust
  FZGM_CUDA=${FZGM_CUDA:-off} cargo doc --quiet --locked --no-deps -p fzgm
  cp -r "${CARGO_TARGET_DIR:-target}/doc" "$site/rust"
fi
printf 'the documentation is %s/index.html\n' "$site"
