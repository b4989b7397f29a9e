// What matrix products, convolutions, pools and attention refuse. Every text of lib/Dialect/Gantry/IR for them once, in
// full; what MLIR itself adds ("failed to infer returned types") is left alone.

// RUN: gantry-opt %s -split-input-file -verify-diagnostics=only-expected

// Vectors are no matrices.
func.func @matmul(%x: tensor<4xf32>, %y: tensor<4x5xf32>) {
  // expected-error @below {{'gantry.matmul' op operands need at least 2 dimensions, got [4] and [4,5]}}
  %r = gantry.matmul %x, %y : (tensor<4xf32>, tensor<4x5xf32>) -> tensor<5xf32>
  return
}

// -----

// One element type.
func.func @matmul(%x: tensor<3x4xf32>, %y: tensor<4x5xf16>) {
  // expected-error @below {{'gantry.matmul' op operands have different element types: 'f32' and 'f16'}}
  %r = gantry.matmul %x, %y : (tensor<3x4xf32>, tensor<4x5xf16>) -> tensor<3x5xf32>
  return
}

// -----

// Rows meet columns.
func.func @matmul(%x: tensor<3x4xf32>, %y: tensor<6x5xf32>) {
  // expected-error @below {{'gantry.matmul' op inner dimensions differ: [3,4] and [6,5] give 4 against 6}}
  %r = gantry.matmul %x, %y : (tensor<3x4xf32>, tensor<6x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

// The same after transposing.
func.func @matmul(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) {
  // expected-error @below {{'gantry.matmul' op inner dimensions differ: [3,4] and [4,5] give 4 against 5}}
  %r = gantry.matmul %x, %y {transpose_b} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x4xf32>
  return
}

// -----

// Batch dimensions broadcast like elements.
func.func @matmul(%x: tensor<2x3x4xf32>, %y: tensor<3x4x5xf32>) {
  // expected-error @below {{'gantry.matmul' op batch dimensions cannot be broadcast to each other: [2,3,4] and [3,4,5]}}
  %r = gantry.matmul %x, %y : (tensor<2x3x4xf32>, tensor<3x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

// No spatial dimension is left.
func.func @conv(%x: tensor<1x3xf32>, %y: tensor<4x3xf32>) {
  // expected-error @below {{'gantry.conv' op input needs 1 to 3 spatial dimensions after batch and channels, got [1,3]}}
  %r = gantry.conv %x, %y {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x3xf32>, tensor<4x3xf32>) -> tensor<1x4xf32>
  return
}

// -----

// One stride for each spatial dimension.
func.func @conv(%x: tensor<1x3x8xf32>, %y: tensor<4x3x3xf32>) {
  // expected-error @below {{'gantry.conv' op strides has 2 entries, expected 1}}
  %r = gantry.conv %x, %y {strides = array<i64: 1, 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

// A window that does not move.
func.func @conv(%x: tensor<1x3x8xf32>, %y: tensor<4x3x3xf32>) {
  // expected-error @below {{'gantry.conv' op strides has the entry 0, expected at least 1}}
  %r = gantry.conv %x, %y {strides = array<i64: 0>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

// Cutting is not padding.
func.func @conv(%x: tensor<1x3x8xf32>, %y: tensor<4x3x3xf32>) {
  // expected-error @below {{'gantry.conv' op pads_low has the entry -1, expected at least 0}}
  %r = gantry.conv %x, %y {strides = array<i64: 1>, pads_low = array<i64: -1>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

// A filter of another rank.
func.func @conv(%x: tensor<1x3x8xf32>, %y: tensor<4x3x3x3xf32>) {
  // expected-error @below {{'gantry.conv' op filter [4,3,3,3] needs as many dimensions as the input [1,3,8]}}
  %r = gantry.conv %x, %y {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x3x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

// One element type.
func.func @conv(%x: tensor<1x3x8xf32>, %y: tensor<4x3x3xf64>) {
  // expected-error @below {{'gantry.conv' op operands have different element types: 'f32' and 'f64'}}
  %r = gantry.conv %x, %y {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x3x8xf32>, tensor<4x3x3xf64>) -> tensor<1x4x6xf32>
  return
}

// -----

// No groups.
func.func @conv(%x: tensor<1x3x8xf32>, %y: tensor<4x3x3xf32>) {
  // expected-error @below {{'gantry.conv' op groups is 0, expected at least 1}}
  %r = gantry.conv %x, %y {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 0 : i64} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

// Input channels are those of the filter, times the groups.
func.func @conv(%x: tensor<1x4x8xf32>, %y: tensor<4x3x3xf32>) {
  // expected-error @below {{'gantry.conv' op input has 4 channels, filter and groups expect 3 x 2}}
  %r = gantry.conv %x, %y {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 2 : i64} : (tensor<1x4x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

// Each group makes the same number of channels.
func.func @conv(%x: tensor<1x6x8xf32>, %y: tensor<5x3x3xf32>) {
  // expected-error @below {{'gantry.conv' op 5 output channels cannot be divided into 2 groups}}
  %r = gantry.conv %x, %y {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 2 : i64} : (tensor<1x6x8xf32>, tensor<5x3x3xf32>) -> tensor<1x5x6xf32>
  return
}

// -----

// A window of no elements.
func.func @conv(%x: tensor<1x3x8xf32>, %y: tensor<4x3x0xf32>) {
  // expected-error @below {{'gantry.conv' op filter [4,3,0] has an empty or open window}}
  %r = gantry.conv %x, %y {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x3x8xf32>, tensor<4x3x0xf32>) -> tensor<1x4x8xf32>
  return
}

// -----

// A window that does not fit.
func.func @conv(%x: tensor<1x3x2xf32>, %y: tensor<4x3x3xf32>) {
  // expected-error @below {{'gantry.conv' op window [3] is larger than the padded input [1,3,2]}}
  %r = gantry.conv %x, %y {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x3x2xf32>, tensor<4x3x3xf32>) -> tensor<1x4x1xf32>
  return
}

// -----

// The transposed filter counts input channels first.
func.func @conv_transpose(%x: tensor<1x3x4xf32>, %y: tensor<2x3x3xf32>) {
  // expected-error @below {{'gantry.conv_transpose' op input [1,3,4], filter [2,3,3] and 1 groups do not agree on the channels}}
  %r = gantry.conv_transpose %x, %y {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, output_pads = array<i64: 0>, groups = 1 : i64} : (tensor<1x3x4xf32>, tensor<2x3x3xf32>) -> tensor<1x3x6xf32>
  return
}

// -----

// A filter of another rank.
func.func @conv_transpose(%x: tensor<1x3x4xf32>, %y: tensor<3x2xf32>) {
  // expected-error @below {{'gantry.conv_transpose' op filter [3,2] needs as many dimensions as the input [1,3,4]}}
  %r = gantry.conv_transpose %x, %y {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, output_pads = array<i64: 0>, groups = 1 : i64} : (tensor<1x3x4xf32>, tensor<3x2xf32>) -> tensor<1x2x6xf32>
  return
}

// -----

// One element type.
func.func @conv_transpose(%x: tensor<1x3x4xf32>, %y: tensor<3x2x3xf64>) {
  // expected-error @below {{'gantry.conv_transpose' op operands have different element types: 'f32' and 'f64'}}
  %r = gantry.conv_transpose %x, %y {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, output_pads = array<i64: 0>, groups = 1 : i64} : (tensor<1x3x4xf32>, tensor<3x2x3xf64>) -> tensor<1x2x6xf32>
  return
}

// -----

// Output pads, one for each spatial dimension.
func.func @conv_transpose(%x: tensor<1x3x4xf32>, %y: tensor<3x2x3xf32>) {
  // expected-error @below {{'gantry.conv_transpose' op output_pads has 2 entries, expected 1}}
  %r = gantry.conv_transpose %x, %y {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, output_pads = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x3x4xf32>, tensor<3x2x3xf32>) -> tensor<1x2x6xf32>
  return
}

// -----

// Pads cut the output of a transposed convolution.
func.func @conv_transpose(%x: tensor<1x3x1xf32>, %y: tensor<3x2x1xf32>) {
  // expected-error @below {{'gantry.conv_transpose' op pads leave nothing of the output}}
  %r = gantry.conv_transpose %x, %y {strides = array<i64: 1>, pads_low = array<i64: 2>, pads_high = array<i64: 0>, dilations = array<i64: 1>, output_pads = array<i64: 0>, groups = 1 : i64} : (tensor<1x3x1xf32>, tensor<3x2x1xf32>) -> tensor<1x2x0xf32>
  return
}

// -----

// One window size for each spatial dimension.
func.func @max_pool(%x: tensor<1x3x8xf32>) {
  // expected-error @below {{'gantry.max_pool' op window has 2 entries, expected 1}}
  %r = gantry.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>} : (tensor<1x3x8xf32>) -> tensor<1x3x7xf32>
  return
}

// -----

// A window of no elements.
func.func @max_pool(%x: tensor<1x3x8xf32>) {
  // expected-error @below {{'gantry.max_pool' op window has the entry 0, expected at least 1}}
  %r = gantry.max_pool %x {window = array<i64: 0>, strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>} : (tensor<1x3x8xf32>) -> tensor<1x3x7xf32>
  return
}

// -----

// A window that does not fit.
func.func @max_pool(%x: tensor<1x3x2xf32>) {
  // expected-error @below {{'gantry.max_pool' op window [3] is larger than the padded input [1,3,2]}}
  %r = gantry.max_pool %x {window = array<i64: 3>, strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>} : (tensor<1x3x2xf32>) -> tensor<1x3x1xf32>
  return
}

// -----

// Query, key and value of one rank.
func.func @attention(%x: tensor<4x8xf32>, %y: tensor<2x6x8xf32>, %z: tensor<6x8xf32>) {
  // expected-error @below {{'gantry.attention' op query, key and value need the same number of dimensions, at least 2}}
  %r = gantry.attention %x, %y, %z {scale = 1.0 : f64} : (tensor<4x8xf32>, tensor<2x6x8xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// One batch size for the three.
func.func @attention(%x: tensor<2x4x8xf32>, %y: tensor<3x6x8xf32>, %z: tensor<2x6x8xf32>) {
  // expected-error @below {{'gantry.attention' op batch dimensions differ: query [2,4,8], key [3,6,8], value [2,6,8]}}
  %r = gantry.attention %x, %y, %z {scale = 1.0 : f64} : (tensor<2x4x8xf32>, tensor<3x6x8xf32>, tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// Query and key meet in a dot product.
func.func @attention(%x: tensor<4x8xf32>, %y: tensor<6x7xf32>, %z: tensor<6x8xf32>) {
  // expected-error @below {{'gantry.attention' op query [4,8] and key [6,7] differ in the last dimension}}
  %r = gantry.attention %x, %y, %z {scale = 1.0 : f64} : (tensor<4x8xf32>, tensor<6x7xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// A value for each key.
func.func @attention(%x: tensor<4x8xf32>, %y: tensor<6x8xf32>, %z: tensor<5x8xf32>) {
  // expected-error @below {{'gantry.attention' op key [6,8] and value [5,8] differ in length}}
  %r = gantry.attention %x, %y, %z {scale = 1.0 : f64} : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<5x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// The mask is over queries and keys.
func.func @attention(%x: tensor<4x8xf32>, %y: tensor<6x8xf32>, %z: tensor<6x8xf32>, %u: tensor<4x5xf32>) {
  // expected-error @below {{'gantry.attention' op mask [4,5] cannot be broadcast to the scores [4,6]}}
  %r = gantry.attention %x, %y, %z, %u {scale = 1.0 : f64} : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4x5xf32>) -> tensor<4x8xf32>
  return
}

// -----

// Sums of bytes are i32.
func.func @matmul(%x: tensor<4x8xui8>, %y: tensor<8x4xi8>) {
  // expected-error @below {{op inferred type(s) 'tensor<4x4xi32>' are incompatible with return type(s) of operation 'tensor<4x4xi8>'}}
  // expected-error @below {{'gantry.matmul' op failed to infer returned types}}
  %r = gantry.matmul %x, %y : (tensor<4x8xui8>, tensor<8x4xi8>) -> tensor<4x4xi8>
  return
}

// -----

// Only of narrow factors are sums wider.
func.func @wide(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) {
  // expected-error @below {{'gantry.matmul' op with 'accumulate_type' multiplies f16 or bf16, got 'f32'}}
  %r = gantry.matmul %x, %y {accumulate_type = f32} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

// Only bytes may differ in their sign.
func.func @matmul(%x: tensor<4x8xui16>, %y: tensor<8x4xi16>) {
  // expected-error @below {{'gantry.matmul' op operands have different element types: 'ui16' and 'i16'}}
  %r = gantry.matmul %x, %y : (tensor<4x8xui16>, tensor<8x4xi16>) -> tensor<4x4xi16>
  return
}

// -----

// Filters of bytes have four channels side by side.
func.func @conv(%x: tensor<1x8x4xui8>, %w: tensor<1x1x2x16x2xi8>) {
  // expected-error @below {{'gantry.conv' op packed filter [1,1,2,16,2] of bytes needs 4 channels side by side}}
  %y = gantry.conv %x, %w {layout = #gantry<image_layout NHWC>, strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x8x4xui8>, tensor<1x1x2x16x2xi8>) -> tensor<1x8x16xi32>
  return
}

// -----

// A packed filter of a transposed convolution goes with an image that has its channels last.
func.func @conv_transpose(%x: tensor<1x4x3xf32>, %y: tensor<1x3x4x2xf32>) {
  // expected-error @below {{'gantry.conv_transpose' op packed filter [1,3,4,2] does not go with the input [1,4,3]}}
  %r = gantry.conv_transpose %x, %y {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, output_pads = array<i64: 0>, groups = 1 : i64} : (tensor<1x4x3xf32>, tensor<1x3x4x2xf32>) -> tensor<1x6x2xf32>
  return
}

// -----

// The same holds for its pads.
func.func @conv_transpose(%x: tensor<1x1x3xf32>, %y: tensor<1x1x3x2xf32>) {
  // expected-error @below {{'gantry.conv_transpose' op pads leave nothing of the output}}
  %r = gantry.conv_transpose %x, %y {strides = array<i64: 1>, pads_low = array<i64: 2>, pads_high = array<i64: 0>, dilations = array<i64: 1>, output_pads = array<i64: 0>, groups = 1 : i64} : (tensor<1x1x3xf32>, tensor<1x1x3x2xf32>) -> tensor<1x0x2xf32>
  return
}

// -----

// Those of bf16 two.
func.func @conv(%x: tensor<1x8x4xbf16>, %w: tensor<1x1x1x16x4xbf16>) {
  // expected-error @below {{'gantry.conv' op packed filter [1,1,1,16,4] of bf16 needs 2 channels side by side}}
  %y = gantry.conv %x, %w {accumulate_type = f32, layout = #gantry<image_layout NHWC>, strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x8x4xbf16>, tensor<1x1x1x16x4xbf16>) -> tensor<1x8x16xf32>
  return
}

// -----

// Only narrow factors have wider sums.
func.func @conv(%x: tensor<1x4x8xf32>, %w: tensor<16x4x1xf32>) {
  // expected-error @below {{'gantry.conv' op with 'accumulate_type' multiplies f16 or bf16, got 'f32'}}
  %y = gantry.conv %x, %w {accumulate_type = f32, strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x4x8xf32>, tensor<16x4x1xf32>) -> tensor<1x16x8xf32>
  return
}

// -----

// Accumulators are f32.
func.func @accumulate_type(%x: tensor<4x8xbf16>, %y: tensor<8x4xbf16>) {
  // expected-error @below {{'gantry.matmul' op attribute 'accumulate_type' failed to satisfy constraint: type attribute of 32-bit float}}
  %r = gantry.matmul %x, %y {accumulate_type = f64} : (tensor<4x8xbf16>, tensor<8x4xbf16>) -> tensor<4x4xf64>
  return
}

// -----

func.func @border(%x: tensor<1x2x4xf32>, %w: tensor<2x2x3xf32>) {
  // expected-error @below {{'gantry.conv' op attribute 'border' failed to satisfy constraint: what a border of zeros means for the sums}}
  %r = gantry.conv %x, %w {border = true, strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x2x4xf32>, tensor<2x2x3xf32>) -> tensor<1x2x2xf32>
  return
}

// -----

// Weights of few bits are rows of bytes: a scale and 16 numbers of 4 bits are 12.
func.func @block_quantized(%x: tensor<3x16xf32>, %w: tensor<2x16xui8>) {
  // expected-error @below {{'gantry.matmul' op operands [3,16] and [2,16] do not have 16 numbers in rows of 12 bytes}}
  %r = gantry.matmul %x, %w {block_quantized = #gantry.block_quantized<bits = 4, block = 16, k = 16, zero = 8>, transpose_b} : (tensor<3x16xf32>, tensor<2x16xui8>) -> tensor<3x2xf32>
  return
}

// -----

func.func @block_quantized_floats(%x: tensor<3x16xf32>, %w: tensor<2x16xf32>) {
  // expected-error @below {{'gantry.matmul' op with 'block_quantized' multiplies f32 by rows of ui8, got 'f32' and 'f32'}}
  %r = gantry.matmul %x, %w {block_quantized = #gantry.block_quantized<bits = 4, block = 16, k = 16, zero = 8>, transpose_b} : (tensor<3x16xf32>, tensor<2x16xf32>) -> tensor<3x2xf32>
  return
}

// -----

// Blocks are whole words.
func.func @blocks_of_words(%x: tensor<3x16xf32>, %w: tensor<2x12xui8>) {
  // expected-error @below {{block_quantized: no weights have 4 bits, blocks of 12, 16 numbers a column and the zero point 8; bits are 2, 4 or 8, blocks whole words of 4 bytes, the zero point one of the numbers, or -1}}
  %r = gantry.matmul %x, %w {block_quantized = #gantry.block_quantized<bits = 4, block = 12, k = 16, zero = 8>, transpose_b} : (tensor<3x16xf32>, tensor<2x12xui8>) -> tensor<3x2xf32>
  return
}
