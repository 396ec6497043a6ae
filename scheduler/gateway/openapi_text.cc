#include "scheduler/gateway/openapi_text.h"

#include <cstddef>

// The assembler reads the file: no text that a compiler would have to take for one string.
asm(R"(
.section .rodata
.globl kGlimOpenApiText
.hidden kGlimOpenApiText
kGlimOpenApiText:
.incbin "docs/openapi.json"
.globl kGlimOpenApiTextEnd
.hidden kGlimOpenApiTextEnd
kGlimOpenApiTextEnd:
.text
)");

extern "C" const char kGlimOpenApiText[];
extern "C" const char kGlimOpenApiTextEnd[];

namespace glim::gateway {

std::string_view OpenApiText() {
  return {kGlimOpenApiText, static_cast<std::size_t>(kGlimOpenApiTextEnd - kGlimOpenApiText)};
}

}  // namespace glim::gateway
