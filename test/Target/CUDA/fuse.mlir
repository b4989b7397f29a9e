// Which ops share a kernel on GPUs.
// RUN: gantry-opt %s --gantry-form-kernels --gantry-verify-kernels | FileCheck %s

// A normalisation written out is one kernel with what comes before and after it; a product keeps what
// follows it, for others read that as well as the row.
// CHECK-LABEL: func.func @norm(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@matmul_add_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@reduce_mean_sub_mul_reduce_mean_and_5_{{[0-9]+}}(
// CHECK-NEXT: return
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "cuda", name = "/physical_device:GPU:0"}],
    logical = [{physical = 0}, {physical = 1}]}>} {
func.func @norm(%x: tensor<64x256xf32>, %w: tensor<256x256xf32>, %b: tensor<256xf32>, %e: tensor<64x1xf32>, %s: tensor<256xf32>) -> tensor<64x256xf32> {
  %0 = gantry.matmul %x, %w {gantry.device = #gpu} : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
  %1 = gantry.add %0, %b {gantry.device = #gpu} : (tensor<64x256xf32>, tensor<256xf32>) -> tensor<64x256xf32>
  %2 = gantry.reduce_mean %1 {axes = array<i64: 1>, keep_dims, gantry.device = #gpu} : (tensor<64x256xf32>) -> tensor<64x1xf32>
  %3 = gantry.sub %1, %2 {gantry.device = #gpu} : (tensor<64x256xf32>, tensor<64x1xf32>) -> tensor<64x256xf32>
  %4 = gantry.mul %3, %3 {gantry.device = #gpu} : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  %5 = gantry.reduce_mean %4 {axes = array<i64: 1>, keep_dims, gantry.device = #gpu} : (tensor<64x256xf32>) -> tensor<64x1xf32>
  %6 = gantry.add %5, %e {gantry.device = #gpu} : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %7 = gantry.sqrt %6 {gantry.device = #gpu} : (tensor<64x1xf32>) -> tensor<64x1xf32>
  %8 = gantry.div %3, %7 {gantry.device = #gpu} : (tensor<64x256xf32>, tensor<64x1xf32>) -> tensor<64x256xf32>
  %9 = gantry.mul %8, %s {gantry.device = #gpu} : (tensor<64x256xf32>, tensor<256xf32>) -> tensor<64x256xf32>
  %10 = gantry.relu %9 {gantry.device = #gpu} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  return %10 : tensor<64x256xf32>
}

// So are softmax and layer_norm; rows of one length meet, others do not.
// CHECK-LABEL: func.func @rows(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@mul_softmax_exp_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@neg_layer_norm_reduce_sum_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@softmax_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@reduce_sum_{{[0-9]+}}(
// CHECK-NEXT: return
func.func @rows(%x: tensor<64x256xf32>, %s: tensor<256xf32>) -> (tensor<64x256xf32>, tensor<64xf32>, tensor<64xf32>) {
  %0 = gantry.mul %x, %s {gantry.device = #gpu} : (tensor<64x256xf32>, tensor<256xf32>) -> tensor<64x256xf32>
  %1 = gantry.softmax %0 {axis = 1 : i64, gantry.device = #gpu} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %2 = gantry.exp %1 {gantry.device = #gpu} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %3 = gantry.neg %x {gantry.device = #gpu} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %4 = gantry.layer_norm %3, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64, gantry.device = #gpu} : (tensor<64x256xf32>, tensor<256xf32>) -> tensor<64x256xf32>
  %5 = gantry.reduce_sum %4 {axes = array<i64: 1>, gantry.device = #gpu} : (tensor<64x256xf32>) -> tensor<64xf32>
  %6 = gantry.softmax %x {axis = 0 : i64, gantry.device = #gpu} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %7 = gantry.reduce_sum %6 {axes = array<i64: 1>, gantry.device = #gpu} : (tensor<64x256xf32>) -> tensor<64xf32>
  return %2, %5, %7 : tensor<64x256xf32>, tensor<64xf32>, tensor<64xf32>
}

// What many elements read is computed for each of them when that is a few instructions.
// CHECK-LABEL: func.func @broadcasts(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@mul_add_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@exp_{{[0-9]}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@mul_add_1(
// CHECK-NEXT: return
func.func @broadcasts(%x: tensor<64x256xf32>, %s: tensor<256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>) {
  %0 = gantry.mul %s, %s {gantry.device = #gpu} : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  %1 = gantry.add %x, %0 {gantry.device = #gpu} : (tensor<64x256xf32>, tensor<256xf32>) -> tensor<64x256xf32>
  %2 = gantry.exp %s {gantry.device = #gpu} : (tensor<256xf32>) -> tensor<256xf32>
  %3 = gantry.mul %2, %s {gantry.device = #gpu} : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  %4 = gantry.add %x, %3 {gantry.device = #gpu} : (tensor<64x256xf32>, tensor<256xf32>) -> tensor<64x256xf32>
  return %1, %4 : tensor<64x256xf32>, tensor<64x256xf32>
}

// In front of a product or a window nothing is computed; in front of columns it is, once.
// CHECK-LABEL: func.func @in_front(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@exp_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@matmul_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@relu_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@max_pool_neg_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@tanh_reduce_max_{{[0-9]+}}(
// CHECK-NEXT: return
func.func @in_front(%x: tensor<64x64xf32>, %i: tensor<1x3x8xf32>) -> (tensor<64x64xf32>, tensor<1x3x4xf32>, tensor<64xf32>) {
  %0 = gantry.exp %x {gantry.device = #gpu} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = gantry.matmul %0, %x {gantry.device = #gpu} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = gantry.relu %i {gantry.device = #gpu} : (tensor<1x3x8xf32>) -> tensor<1x3x8xf32>
  %3 = gantry.max_pool %2 {window = array<i64: 2>, strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, gantry.device = #gpu} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  %4 = gantry.neg %3 {gantry.device = #gpu} : (tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
  %5 = gantry.tanh %x {gantry.device = #gpu} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %6 = gantry.reduce_max %5 {axes = array<i64: 0>, gantry.device = #gpu} : (tensor<64x64xf32>) -> tensor<64xf32>
  return %1, %4, %6 : tensor<64x64xf32>, tensor<1x3x4xf32>, tensor<64xf32>
}

// One operand may be turned, parts are read where they are.
// CHECK-LABEL: func.func @moved(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@transpose_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@transpose_add_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@add_transpose_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@slice_exp_{{[0-9]+}}(
// CHECK-NEXT: return
func.func @moved(%x: tensor<64x32xf32>, %y: tensor<64x32xf32>, %s: tensor<32xf32>) -> (tensor<32x64xf32>, tensor<32x64xf32>, tensor<16x32xf32>) {
  %0 = gantry.transpose %x {permutation = array<i64: 1, 0>, gantry.device = #gpu} : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %1 = gantry.transpose %y {permutation = array<i64: 1, 0>, gantry.device = #gpu} : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %2 = gantry.add %0, %1 {gantry.device = #gpu} : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %3 = gantry.add %x, %s {gantry.device = #gpu} : (tensor<64x32xf32>, tensor<32xf32>) -> tensor<64x32xf32>
  %4 = gantry.transpose %3 {permutation = array<i64: 1, 0>, gantry.device = #gpu} : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %5 = gantry.slice %x {starts = array<i64: 8, 0>, sizes = array<i64: 16, 32>, steps = array<i64: 1, 1>, gantry.device = #gpu} : (tensor<64x32xf32>) -> tensor<16x32xf32>
  %6 = gantry.exp %5 {gantry.device = #gpu} : (tensor<16x32xf32>) -> tensor<16x32xf32>
  return %2, %4, %6 : tensor<32x64xf32>, tensor<32x64xf32>, tensor<16x32xf32>
}

// Products read matrices that lie in another order, and write one, as long as rows stay together: %y is read where
// its columns are rows; heads that are innermost (%z) are turned first, and so is what others read, too.
// CHECK-LABEL: func.func @turned_products(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@transpose_transpose_matmul_add_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@transpose_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@matmul_transpose_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@transpose_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@matmul_mul_{{[0-9]+}}(
// CHECK-NEXT: return
func.func @turned_products(%x: tensor<64x4x32xf32>, %y: tensor<64x4x32xf32>, %z: tensor<64x32x4xf32>) -> (tensor<64x4x32xf32>, tensor<4x64x64xf32>, tensor<4x64x32xf32>) {
  %0 = gantry.transpose %x {permutation = array<i64: 1, 0, 2>, gantry.device = #gpu} : (tensor<64x4x32xf32>) -> tensor<4x64x32xf32>
  %1 = gantry.transpose %y {permutation = array<i64: 1, 2, 0>, gantry.device = #gpu} : (tensor<64x4x32xf32>) -> tensor<4x32x64xf32>
  %2 = gantry.matmul %0, %1 {gantry.device = #gpu} : (tensor<4x64x32xf32>, tensor<4x32x64xf32>) -> tensor<4x64x64xf32>
  %3 = gantry.add %2, %2 {gantry.device = #gpu} : (tensor<4x64x64xf32>, tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %4 = gantry.transpose %z {permutation = array<i64: 2, 0, 1>, gantry.device = #gpu} : (tensor<64x32x4xf32>) -> tensor<4x64x32xf32>
  %5 = gantry.matmul %3, %4 {gantry.device = #gpu} : (tensor<4x64x64xf32>, tensor<4x64x32xf32>) -> tensor<4x64x32xf32>
  %6 = gantry.transpose %5 {permutation = array<i64: 1, 0, 2>, gantry.device = #gpu} : (tensor<4x64x32xf32>) -> tensor<64x4x32xf32>
  %7 = gantry.transpose %x {permutation = array<i64: 1, 0, 2>, gantry.device = #gpu} : (tensor<64x4x32xf32>) -> tensor<4x64x32xf32>
  %8 = gantry.matmul %3, %7 {gantry.device = #gpu} : (tensor<4x64x64xf32>, tensor<4x64x32xf32>) -> tensor<4x64x32xf32>
  %9 = gantry.mul %8, %7 {gantry.device = #gpu} : (tensor<4x64x32xf32>, tensor<4x64x32xf32>) -> tensor<4x64x32xf32>
  return %6, %3, %9 : tensor<64x4x32xf32>, tensor<4x64x64xf32>, tensor<4x64x32xf32>
}

// Attention is one kernel; with scores that others read, or of more queries and keys than pay, its products are two.
// CHECK-LABEL: func.func @attention(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@matmul_mul_softmax_matmul_{{[0-9]+}}(
// CHECK-NEXT: return
func.func @attention(%q: tensor<64x4x32xf32>, %k: tensor<64x4x32xf32>, %v: tensor<64x4x32xf32>, %s: tensor<f32>) -> tensor<64x4x32xf32> {
  %0 = gantry.transpose %q {permutation = array<i64: 1, 0, 2>, gantry.device = #gpu} : (tensor<64x4x32xf32>) -> tensor<4x64x32xf32>
  %1 = gantry.transpose %k {permutation = array<i64: 1, 2, 0>, gantry.device = #gpu} : (tensor<64x4x32xf32>) -> tensor<4x32x64xf32>
  %2 = gantry.transpose %v {permutation = array<i64: 1, 0, 2>, gantry.device = #gpu} : (tensor<64x4x32xf32>) -> tensor<4x64x32xf32>
  %3 = gantry.matmul %0, %1 {gantry.device = #gpu} : (tensor<4x64x32xf32>, tensor<4x32x64xf32>) -> tensor<4x64x64xf32>
  %4 = gantry.mul %3, %s {gantry.device = #gpu} : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64x64xf32>
  %5 = gantry.softmax %4 {axis = 2 : i64, gantry.device = #gpu} : (tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %6 = gantry.matmul %5, %2 {gantry.device = #gpu} : (tensor<4x64x64xf32>, tensor<4x64x32xf32>) -> tensor<4x64x32xf32>
  %7 = gantry.transpose %6 {permutation = array<i64: 1, 0, 2>, gantry.device = #gpu} : (tensor<4x64x32xf32>) -> tensor<64x4x32xf32>
  return %7 : tensor<64x4x32xf32>
}

// CHECK-LABEL: func.func @apart(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@matmul_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@softmax_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@matmul_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@matmul_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@softmax_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@matmul_{{[0-9]+}}(
// CHECK-NEXT: return
func.func @apart(%q: tensor<4x64x32xf32>, %k: tensor<4x32x64xf32>, %v: tensor<4x64x32xf32>, %x: tensor<96x512x64xf32>, %y: tensor<96x64x512xf32>) -> (tensor<4x64x32xf32>, tensor<4x64x64xf32>, tensor<96x512x64xf32>) {
  %0 = gantry.matmul %q, %k {gantry.device = #gpu} : (tensor<4x64x32xf32>, tensor<4x32x64xf32>) -> tensor<4x64x64xf32>
  %1 = gantry.softmax %0 {axis = 2 : i64, gantry.device = #gpu} : (tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %2 = gantry.matmul %1, %v {gantry.device = #gpu} : (tensor<4x64x64xf32>, tensor<4x64x32xf32>) -> tensor<4x64x32xf32>
  %3 = gantry.matmul %x, %y {gantry.device = #gpu} : (tensor<96x512x64xf32>, tensor<96x64x512xf32>) -> tensor<96x512x512xf32>
  %4 = gantry.softmax %3 {axis = 2 : i64, gantry.device = #gpu} : (tensor<96x512x512xf32>) -> tensor<96x512x512xf32>
  %5 = gantry.matmul %4, %x {gantry.device = #gpu} : (tensor<96x512x512xf32>, tensor<96x512x64xf32>) -> tensor<96x512x64xf32>
  return %2, %1, %5 : tensor<4x64x32xf32>, tensor<4x64x64xf32>, tensor<96x512x64xf32>
}

// Numbers of rows that are broadcast along the rows are of other rows.
// CHECK-LABEL: func.func @other_rows(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@reduce_sum_sqrt_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@add_{{[0-9]+}}(
// CHECK-NEXT: return
func.func @other_rows(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = gantry.reduce_sum %x {axes = array<i64: 1>, gantry.device = #gpu} : (tensor<64x64xf32>) -> tensor<64xf32>
  %1 = gantry.sqrt %0 {gantry.device = #gpu} : (tensor<64xf32>) -> tensor<64xf32>
  %2 = gantry.add %x, %1 {gantry.device = #gpu} : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}

// Few long rows would be the work of few blocks: elements stay apart from them.
// CHECK-LABEL: func.func @long_rows(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@exp_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@reduce_max_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@sub_{{[0-9]+}}(
// CHECK-NEXT: return
func.func @long_rows(%x: tensor<2x65536xf32>) -> tensor<2x65536xf32> {
  %0 = gantry.exp %x {gantry.device = #gpu} : (tensor<2x65536xf32>) -> tensor<2x65536xf32>
  %1 = gantry.reduce_max %0 {axes = array<i64: 1>, keep_dims, gantry.device = #gpu} : (tensor<2x65536xf32>) -> tensor<2x1xf32>
  %2 = gantry.sub %0, %1 {gantry.device = #gpu} : (tensor<2x65536xf32>, tensor<2x1xf32>) -> tensor<2x65536xf32>
  return %2 : tensor<2x65536xf32>
}

// A convolution sees the border of its image when it reads there; a pool takes one that is there.
// CHECK-LABEL: func.func @border(
// CHECK: {{.*}}gantry.launch @kernels_cuda::@pad_conv_relu_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@pad_{{[0-9]+}}(
// CHECK-NEXT: {{.*}}gantry.launch @kernels_cuda::@max_pool_{{[0-9]+}}(
// CHECK-NEXT: return
func.func @border(%x: tensor<1x4x8x8xf32>, %w: tensor<8x4x3x3xf32>) -> (tensor<1x8x8x8xf32>, tensor<1x4x5x5xf32>) {
  %zero = gantry.constant dense<0.0> : tensor<f32>
  %0 = gantry.pad %x, %zero {low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 1, 1>, mode = #gantry<pad_mode constant>, gantry.device = #gpu} : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x10x10xf32>
  %1 = gantry.conv %0, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, gantry.device = #gpu} : (tensor<1x4x10x10xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x8x8xf32>
  %2 = gantry.relu %1 {gantry.device = #gpu} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %3 = gantry.pad %x, %zero {low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 1, 1>, mode = #gantry<pad_mode edge>, gantry.device = #gpu} : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x10x10xf32>
  %4 = gantry.max_pool %3 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, gantry.device = #gpu} : (tensor<1x4x10x10xf32>) -> tensor<1x4x5x5xf32>
  return %2, %4 : tensor<1x8x8x8xf32>, tensor<1x4x5x5xf32>
}
}
