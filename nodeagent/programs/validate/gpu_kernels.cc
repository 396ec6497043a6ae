#include "nodeagent/programs/validate/gpu_kernels.h"

// Written by hand. `ptxas -arch=sm_80` and `-arch=sm_90` of CUDA 13.0 take both texts, without spilled registers.

namespace glim::validate {

const char* const kGpuKernels = R"ptx(
.version 6.4
.target sm_60
.address_size 64

.visible .entry glim_words(.param .u64 words, .param .u64 count, .param .u64 result, .param .u64 first,
                           .param .u32 pattern, .param .u32 verify)
{
  .reg .pred %at_end, %is, %verifies;
  .reg .b32 %block, %threads, %thread, %blocks, %pattern, %verify, %bit;
  .reg .b64 %words, %count, %result, %first, %index, %stride, %place, %word, %address, %found, %part;

  ld.param.u64 %words, [words];
  ld.param.u64 %count, [count];
  ld.param.u64 %result, [result];
  ld.param.u64 %first, [first];
  ld.param.u32 %pattern, [pattern];
  ld.param.u32 %verify, [verify];
  cvta.to.global.u64 %words, %words;
  cvta.to.global.u64 %result, %result;
  setp.ne.u32 %verifies, %verify, 0;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  mul.wide.u32 %index, %block, %threads;
  cvt.u64.u32 %part, %thread;
  add.u64 %index, %index, %part;
  mul.wide.u32 %stride, %blocks, %threads;

NEXT_WORD:
  setp.ge.u64 %at_end, %index, %count;
  @%at_end bra WORDS_DONE;
  add.u64 %place, %first, %index;
  setp.eq.u32 %is, %pattern, 4;
  @%is bra RANDOM;
  setp.eq.u32 %is, %pattern, 2;
  @%is bra WALKING_ONE;
  mov.u64 %word, %place;
  setp.eq.u32 %is, %pattern, 3;
  @%is bra WORD_KNOWN;
  mov.u64 %word, 0x5555555555555555;
  setp.eq.u32 %is, %pattern, 0;
  @%is bra WORD_KNOWN;
  mov.u64 %word, 0xAAAAAAAAAAAAAAAA;
  bra WORD_KNOWN;
WALKING_ONE:
  cvt.u32.u64 %bit, %place;
  and.b32 %bit, %bit, 63;
  mov.u64 %word, 1;
  shl.b64 %word, %word, %bit;
  bra WORD_KNOWN;
RANDOM:
  mul.lo.u64 %word, %place, 0x9E3779B97F4A7C15;
  add.u64 %word, %word, 0x6A09E667F3BCC909;
  shr.u64 %part, %word, 30;
  xor.b64 %word, %word, %part;
  mul.lo.u64 %word, %word, 0xBF58476D1CE4E5B9;
  shr.u64 %part, %word, 27;
  xor.b64 %word, %word, %part;
  mul.lo.u64 %word, %word, 0x94D049BB133111EB;
  shr.u64 %part, %word, 31;
  xor.b64 %word, %word, %part;
WORD_KNOWN:
  shl.b64 %address, %index, 3;
  add.u64 %address, %address, %words;
  @%verifies bra VERIFY;
  st.global.u64 [%address], %word;
  bra WORD_DONE;
VERIFY:
  ld.global.u64 %found, [%address];
  xor.b64 %found, %found, %word;
  setp.eq.u64 %is, %found, 0;
  @%is bra WORD_DONE;
  red.global.add.u64 [%result], 1;
  red.global.min.u64 [%result+8], %index;
  red.global.or.b64 [%result+16], %found;
WORD_DONE:
  add.u64 %index, %index, %stride;
  bra NEXT_WORD;
WORDS_DONE:
  ret;
}

.visible .entry glim_compare(.param .u64 c, .param .u64 reference, .param .u64 result, .param .u32 shift)
{
  .reg .pred %at_end, %is;
  .reg .b32 %block, %threads, %thread, %blocks, %shift, %got, %wanted;
  .reg .b64 %c, %reference, %result, %index, %stride, %count, %row, %address, %part;

  ld.param.u64 %c, [c];
  ld.param.u64 %reference, [reference];
  ld.param.u64 %result, [result];
  ld.param.u32 %shift, [shift];
  cvta.to.global.u64 %c, %c;
  cvta.to.global.u64 %reference, %reference;
  cvta.to.global.u64 %result, %result;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  mul.wide.u32 %index, %block, %threads;
  cvt.u64.u32 %part, %thread;
  add.u64 %index, %index, %part;
  mul.wide.u32 %stride, %blocks, %threads;
  mov.u64 %count, 1;
  shl.b64 %count, %count, %shift;
  shl.b64 %count, %count, %shift;

NEXT_ELEMENT:
  setp.ge.u64 %at_end, %index, %count;
  @%at_end bra COMPARED;
  shl.b64 %address, %index, 2;
  add.u64 %address, %address, %c;
  ld.global.u32 %got, [%address];
  shr.u64 %row, %index, %shift;
  and.b64 %row, %row, 127;
  shl.b64 %row, %row, 7;
  and.b64 %part, %index, 127;
  add.u64 %row, %row, %part;
  shl.b64 %address, %row, 2;
  add.u64 %address, %address, %reference;
  ld.global.u32 %wanted, [%address];
  xor.b32 %got, %got, %wanted;
  setp.eq.u32 %is, %got, 0;
  @%is bra ELEMENT_DONE;
  cvt.u64.u32 %part, %got;
  red.global.add.u64 [%result], 1;
  red.global.min.u64 [%result+8], %index;
  red.global.or.b64 [%result+16], %part;
ELEMENT_DONE:
  add.u64 %index, %index, %stride;
  bra NEXT_ELEMENT;
COMPARED:
  ret;
}

// A block makes 64 rows and columns, a thread 4 of each. 16 columns of a and b at a time lie in shared memory, turned,
// with 272 bytes (68 numbers) from one k to the next.
.visible .entry glim_multiply_f32(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
  .reg .pred %more;
  .reg .b32 %n, %thread, %block, %row, %quarter, %turned_a, %turned_b;
  .reg .b32 %from_a, %from_b, %at_a, %at_b, %k, %step, %part;
  .reg .b64 %a, %b, %c, %line, %offset;
  .reg .f32 %x<4>, %y<4>;
  .reg .f32 %s<16>;
  .shared .align 16 .b8 tile_a[4352];
  .shared .align 16 .b8 tile_b[4352];

  ld.param.u64 %a, [a];
  ld.param.u64 %b, [b];
  ld.param.u64 %c, [c];
  ld.param.u32 %n, [n];
  cvta.to.global.u64 %a, %a;
  cvta.to.global.u64 %b, %b;
  cvta.to.global.u64 %c, %c;
  mov.u32 %thread, %tid.x;
  mul.wide.u32 %line, %n, 4;

  // What the thread fetches: 4 numbers of row thread/4, from k + 4 * (thread mod 4) on.
  shr.u32 %row, %thread, 2;
  and.b32 %quarter, %thread, 3;
  mov.u32 %block, %ctaid.y;
  shl.b32 %block, %block, 6;
  add.u32 %part, %block, %row;
  cvt.u64.u32 %offset, %part;
  mul.lo.u64 %offset, %offset, %line;
  add.u64 %a, %a, %offset;
  mov.u32 %block, %ctaid.x;
  shl.b32 %block, %block, 6;
  add.u32 %part, %block, %row;
  cvt.u64.u32 %offset, %part;
  mul.lo.u64 %offset, %offset, %line;
  add.u64 %b, %b, %offset;
  mul.wide.u32 %offset, %quarter, 16;
  add.u64 %a, %a, %offset;
  add.u64 %b, %b, %offset;
  // Where it lays them.
  mul.lo.u32 %part, %quarter, 1088;
  shl.b32 %row, %row, 2;
  add.u32 %part, %part, %row;
  mov.u32 %turned_a, tile_a;
  add.u32 %turned_a, %turned_a, %part;
  mov.u32 %turned_b, tile_b;
  add.u32 %turned_b, %turned_b, %part;
  // What it multiplies: rows 4 * (thread / 16) on, columns 4 * (thread mod 16) on.
  shr.u32 %part, %thread, 4;
  shl.b32 %part, %part, 4;
  mov.u32 %from_a, tile_a;
  add.u32 %from_a, %from_a, %part;
  and.b32 %part, %thread, 15;
  shl.b32 %part, %part, 4;
  mov.u32 %from_b, tile_b;
  add.u32 %from_b, %from_b, %part;
  mov.f32 %s0, 0f00000000;
  mov.f32 %s1, 0f00000000;
  mov.f32 %s2, 0f00000000;
  mov.f32 %s3, 0f00000000;
  mov.f32 %s4, 0f00000000;
  mov.f32 %s5, 0f00000000;
  mov.f32 %s6, 0f00000000;
  mov.f32 %s7, 0f00000000;
  mov.f32 %s8, 0f00000000;
  mov.f32 %s9, 0f00000000;
  mov.f32 %s10, 0f00000000;
  mov.f32 %s11, 0f00000000;
  mov.f32 %s12, 0f00000000;
  mov.f32 %s13, 0f00000000;
  mov.f32 %s14, 0f00000000;
  mov.f32 %s15, 0f00000000;
  mov.u32 %k, 0;

NEXT_TILE:
  ld.global.v4.f32 {%x0, %x1, %x2, %x3}, [%a];
  ld.global.v4.f32 {%y0, %y1, %y2, %y3}, [%b];
  bar.sync 0;
  st.shared.f32 [%turned_a], %x0;
  st.shared.f32 [%turned_a+272], %x1;
  st.shared.f32 [%turned_a+544], %x2;
  st.shared.f32 [%turned_a+816], %x3;
  st.shared.f32 [%turned_b], %y0;
  st.shared.f32 [%turned_b+272], %y1;
  st.shared.f32 [%turned_b+544], %y2;
  st.shared.f32 [%turned_b+816], %y3;
  bar.sync 0;
  mov.u32 %at_a, %from_a;
  mov.u32 %at_b, %from_b;
  mov.u32 %step, 0;
NEXT_STEP:
  ld.shared.v4.f32 {%x0, %x1, %x2, %x3}, [%at_a];
  ld.shared.v4.f32 {%y0, %y1, %y2, %y3}, [%at_b];
  fma.rn.f32 %s0, %x0, %y0, %s0;
  fma.rn.f32 %s1, %x0, %y1, %s1;
  fma.rn.f32 %s2, %x0, %y2, %s2;
  fma.rn.f32 %s3, %x0, %y3, %s3;
  fma.rn.f32 %s4, %x1, %y0, %s4;
  fma.rn.f32 %s5, %x1, %y1, %s5;
  fma.rn.f32 %s6, %x1, %y2, %s6;
  fma.rn.f32 %s7, %x1, %y3, %s7;
  fma.rn.f32 %s8, %x2, %y0, %s8;
  fma.rn.f32 %s9, %x2, %y1, %s9;
  fma.rn.f32 %s10, %x2, %y2, %s10;
  fma.rn.f32 %s11, %x2, %y3, %s11;
  fma.rn.f32 %s12, %x3, %y0, %s12;
  fma.rn.f32 %s13, %x3, %y1, %s13;
  fma.rn.f32 %s14, %x3, %y2, %s14;
  fma.rn.f32 %s15, %x3, %y3, %s15;
  add.u32 %at_a, %at_a, 272;
  add.u32 %at_b, %at_b, 272;
  add.u32 %step, %step, 1;
  setp.lt.u32 %more, %step, 16;
  @%more bra NEXT_STEP;
  add.u64 %a, %a, 64;
  add.u64 %b, %b, 64;
  add.u32 %k, %k, 16;
  setp.lt.u32 %more, %k, %n;
  @%more bra NEXT_TILE;

  mov.u32 %block, %ctaid.y;
  shl.b32 %block, %block, 6;
  shr.u32 %part, %thread, 4;
  shl.b32 %part, %part, 2;
  add.u32 %part, %part, %block;
  cvt.u64.u32 %offset, %part;
  mul.lo.u64 %offset, %offset, %line;
  add.u64 %c, %c, %offset;
  mov.u32 %block, %ctaid.x;
  shl.b32 %block, %block, 6;
  and.b32 %part, %thread, 15;
  shl.b32 %part, %part, 2;
  add.u32 %part, %part, %block;
  mul.wide.u32 %offset, %part, 4;
  add.u64 %c, %c, %offset;
  st.global.v4.f32 [%c], {%s0, %s1, %s2, %s3};
  add.u64 %c, %c, %line;
  st.global.v4.f32 [%c], {%s4, %s5, %s6, %s7};
  add.u64 %c, %c, %line;
  st.global.v4.f32 [%c], {%s8, %s9, %s10, %s11};
  add.u64 %c, %c, %line;
  st.global.v4.f32 [%c], {%s12, %s13, %s14, %s15};
  ret;
}
)ptx";

}  // namespace glim::validate
