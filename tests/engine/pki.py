"""Throw-away certificates for one control plane: a CA, the API server's and the administrator's."""

import datetime
import ipaddress
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LIFETIME = datetime.timedelta(days=1)


@dataclass(frozen=True)
class KeyPair:
    """A private key and, signed by the CA, its certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def key_pem(self) -> bytes:
        return private_pem(self.key)

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)


def new_key() -> ec.EllipticCurvePrivateKey:
    """Return a fresh P-256 key: made in a millisecond, where RSA takes a second."""
    return ec.generate_private_key(ec.SECP256R1())


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return `key` as the unencrypted `EC PRIVATE KEY` that the kube-* processes read."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def authority() -> KeyPair:
    """Return a new certificate authority."""
    key = new_key()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "envfleet-test-ca")])
    certificate = (
        _certificate(name, key)
        .issuer_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    return KeyPair(key, certificate)


def issue(ca: KeyPair, user: str, *, group: str | None = None, address: str | None = None) -> KeyPair:
    """Return a pair for a client (Kubernetes reads user and group from it) or a server at `address`."""
    key = new_key()
    names = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
    if group:
        names.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    builder = _certificate(x509.Name(names), key).issuer_name(ca.certificate.subject)
    if address:
        ip = x509.IPAddress(ipaddress.ip_address(address))
        builder = builder.add_extension(x509.SubjectAlternativeName([ip]), critical=False)
    return KeyPair(key, builder.sign(ca.key, hashes.SHA256()))


def _certificate(subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + LIFETIME)
    )
