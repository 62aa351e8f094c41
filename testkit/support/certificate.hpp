// A certificate for 127.0.0.1 that signs itself, for tests of TLS.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

namespace holdfast::support {

/// Writes both files in PEM.
inline void make_certificate(const std::string& certificate_file, const std::string& key_file) {
  const auto check = [](bool good) {
    if (!good) throw std::runtime_error("a certificate for the test can't be made");
  };
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"),
                                                           EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> made(X509_new(), X509_free);
  check(key && made);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -86'400);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 86'400);
  X509_set_pubkey(made.get(), key.get());
  X509_NAME* const name = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"),
                             -1, -1, 0);
  X509_set_issuer_name(made.get(), name);
  X509_EXTENSION* const names =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
  check(names != nullptr);
  X509_add_ext(made.get(), names, -1);
  X509_EXTENSION_free(names);
  check(X509_sign(made.get(), key.get(), EVP_sha256()) > 0);

  const auto write = [&](const std::string& path, auto write_pem) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"), std::fclose);
    check(file && write_pem(file.get()) == 1);
  };
  write(certificate_file, [&](std::FILE* file) { return PEM_write_X509(file, made.get()); });
  write(key_file, [&](std::FILE* file) {
    return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
}

}  // namespace holdfast::support
