"""Certificates by `openssl`, of authorities that nobody else trusts."""

import subprocess
from pathlib import Path


def openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def make_authority(folder: Path, name: str) -> Path:
    """The path of its certificate; its key lies beside it."""
    certificate = folder / f"{name}.crt"
    openssl(
        *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"),
        *("-subj", f"/CN={name}", "-keyout", certificate.with_suffix(".key"), "-out", certificate),
    )
    return certificate


def make_certificate(folder: Path, authority: Path, host: str) -> tuple[Path, Path]:
    request, certificate, key, names = (folder / f"server.{end}" for end in ("csr", "crt", "key", "ext"))
    names.write_text(f"subjectAltName=DNS:{host}\n")
    openssl(
        *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
        *("-subj", f"/CN={host}", "-keyout", key, "-out", request),
    )
    openssl(
        *("x509", "-req", "-days", "2", "-in", request, "-out", certificate, "-extfile", names),
        *("-CA", authority, "-CAkey", authority.with_suffix(".key"), "-CAcreateserial"),
    )
    return certificate, key
