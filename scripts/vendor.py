"""Fetch the JavaScript that the dashboard ships, and that its browser tests use, from npm.

    python scripts/vendor.py          # fetch the versions named below, write files and manifests
    python scripts/vendor.py --check  # only compare the files with their manifests

Each folder has one manifest with the name, version, licence and SHA-256 checksum of every file.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
SHIPPED = ROOT / "priorband" / "dashboard" / "static" / "vendor"
FOR_TESTS = ROOT / "tests" / "browser" / "vendor"

PACKAGES = {
    SHIPPED: [
        (
            "htm",
            "3.1.1",
            "Apache-2.0 (with preact, MIT)",
            {"preact/standalone.module.js": "preact-htm.js", "LICENSE": "htm.LICENSE"},
        ),
        ("preact", "10.5.15", "MIT", {"LICENSE": "preact.LICENSE"}),
        (
            "uplot",
            "1.6.32",
            "MIT",
            {
                "dist/uPlot.esm.js": "uPlot.js",
                "dist/uPlot.min.css": "uPlot.css",
                "LICENSE": "uPlot.LICENSE",
            },
        ),
    ],
    FOR_TESTS: [
        ("axe-core", "4.14.0", "MPL-2.0", {"axe.min.js": "axe.min.js", "LICENSE": "axe.LICENSE"}),
    ],
}
"""By folder: each package with its version, licence, and the files taken from it by new name."""


def main() -> int:
    """Fetch or check the files; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare with the manifests")
    check = parser.parse_args().check
    wrong = [line for folder in PACKAGES for line in (differing(folder) if check else [])]
    if not check:
        for folder, packages in PACKAGES.items():
            fetch(folder, packages)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


def fetch(folder: Path, packages: list[tuple[str, str, str, dict[str, str]]]) -> None:
    """Write the files of packages to a folder, and its manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = []
    for name, version, licence, files in packages:
        with tempfile.TemporaryDirectory() as place:
            command = ["npm", "pack", "--silent", f"{name}@{version}"]
            done = subprocess.run(command, cwd=place, check=True, capture_output=True, text=True)
            with tarfile.open(Path(place) / done.stdout.split()[-1]) as archive:
                for source, target in files.items():
                    member = archive.extractfile(f"package/{source}")
                    assert member is not None, f"{name} has no {source}"
                    (folder / target).write_bytes(member.read())
        described = [
            {"file": target, "source": source, "sha256": checksum(folder / target)}
            for source, target in files.items()
        ]
        manifest.append({"name": name, "version": version, "licence": licence, "files": described})
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")


def differing(folder: Path) -> list[str]:
    """What differs between a folder and its manifest, as lines of text."""
    manifest = json.loads((folder / "manifest.json").read_text())
    listed = {each["file"]: each["sha256"] for one in manifest for each in one["files"]}
    found = {path.name for path in folder.iterdir()} - {"manifest.json"}
    lines = [f"{folder / name}: not in the manifest" for name in sorted(found - listed.keys())]
    lines += [f"{folder / name}: missing" for name in sorted(listed.keys() - found)]
    return lines + [
        f"{folder / name}: another checksum"
        for name in sorted(found & listed.keys())
        if checksum(folder / name) != listed[name]
    ]


def checksum(path: Path) -> str:
    """The SHA-256 checksum of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
