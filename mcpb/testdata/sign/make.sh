#!/usr/bin/env bash
# Makes the keys, the certificates and the signed bundles that the tests of
# signatures read, with OpenSSL 3. The keys sign nothing but these tests.
#
# The bundle reference.mcpb was signed by the reference CLI, version 2.1.2:
#   mcpb sign --self-signed
set -euo pipefail
cd "$(dirname "$0")"
days=36500
leaf() { # NAME KEYTYPE EXTENSIONS
  openssl req -new -newkey "$2" ${3:+-pkeyopt "$3"} -nodes -keyout "$1.key" -subj "/CN=$1" -out "$1.csr"
  openssl x509 -req -in "$1.csr" -CA inter.pem -CAkey inter.key -CAcreateserial -days $days -extfile <(printf '%s\n' "$4") -out "$1.leaf"
  cat "$1.leaf" inter.pem > "$1.pem"
  rm "$1.csr" "$1.leaf"
}
openssl req -x509 -newkey rsa:2048 -days $days -nodes -keyout root.key -out root.pem -subj /CN=root -addext keyUsage=keyCertSign
openssl req -new -newkey rsa:2048 -nodes -keyout inter.key -out inter.csr -subj /CN=inter
openssl x509 -req -in inter.csr -CA root.pem -CAkey root.key -CAcreateserial -days $days -out inter.pem \
  -extfile <(printf 'basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign\nsubjectKeyIdentifier=hash\n')
code=$'keyUsage=digitalSignature\nextendedKeyUsage=codeSigning\nsubjectKeyIdentifier=hash'
leaf rsa rsa:2048 '' "$code"
leaf ec ec ec_paramgen_curve:P-256 "$code"
leaf ec384 ec ec_paramgen_curve:P-384 "$code"
leaf ed25519 ed25519 '' "$code"
leaf tls ec ec_paramgen_curve:P-256 $'keyUsage=digitalSignature\nextendedKeyUsage=serverAuth'
openssl req -x509 -newkey rsa:2048 -days $days -nodes -keyout self.key -out self.pem -subj /CN=self
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -days $days -nodes -keyout other.key -out other.pem -subj /CN=root
openssl pkcs8 -topk8 -in rsa.key -passout pass:secret -out encrypted.key
openssl rsa -in rsa.key -traditional -out rsa-pkcs1.key
openssl ec -in ec.key -out ec-sec1.key

# block DER OUT puts a signature behind plain.mcpb.
block() {
  python3 - "$1" "$2" <<'PY'
import struct, sys
der = open(sys.argv[1], 'rb').read()
plain = open('plain.mcpb', 'rb').read()
open(sys.argv[2], 'wb').write(plain + b'MCPB_SIG_V1' + struct.pack('<I', len(der)) + der + b'MCPB_SIG_END')
PY
}
sign() { # OUT NAME OPTION...
  openssl cms -sign -binary -in plain.mcpb -outform DER -signer "$2.pem" -certfile inter.pem -inkey "$2.key" -out out.der "${@:3}"
  block out.der "$1"
}
sign openssl-rsa.mcpb rsa -md sha256
sign openssl-rsa-sha512.mcpb rsa -md sha512
sign openssl-ec.mcpb ec -md sha256
sign openssl-keyid.mcpb rsa -md sha256 -keyid
sign openssl-sha1.mcpb rsa -md sha1
sign openssl-noattr.mcpb rsa -md sha256 -noattr
sign openssl-pss.mcpb rsa -md sha256 -keyopt rsa_padding_mode:pss
openssl req -x509 -newkey rsa-pss -pkeyopt rsa_keygen_bits:2048 -days $days -nodes -keyout pss.key -out pss.pem -subj /CN=pss \
  -addext extendedKeyUsage=codeSigning -addext keyUsage=digitalSignature
sign openssl-pss-key.mcpb pss -md sha384 -keyopt rsa_padding_mode:pss -keyopt rsa_pss_saltlen:48
rm -f pss.key
sed '0,/manifest/s//Manifest/' openssl-rsa.mcpb > tampered.mcpb
rm -f out.der inter.csr ./*.srl root.key inter.key
