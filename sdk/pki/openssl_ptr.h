// OpenSSL's objects with owners, for the sources of this room and for tests of TLS. A value owns its object;
// null: none.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

namespace glim::pki {

template <auto Free>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
template <typename T, auto Free>
using OpensslPtr = std::unique_ptr<T, FreeWith<Free>>;

using BioPtr = OpensslPtr<BIO, BIO_free_all>;
using KeyPtr = OpensslPtr<EVP_PKEY, EVP_PKEY_free>;
using KeyContextPtr = OpensslPtr<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;
using RequestPtr = OpensslPtr<X509_REQ, X509_REQ_free>;
using CertificatePtr = OpensslPtr<X509, X509_free>;

// A BIO that reads `bytes`, which have to stay.
BioPtr ReadingBio(std::string_view bytes);
// What was written into a memory BIO.
std::string TextOf(BIO* bio);

// The oldest of this thread's errors in OpenSSL's words, and the queue is empty: for the end of a message. Never quotes
// a key. "no reason given" when there is none.
std::string OpensslError();

}  // namespace glim::pki
