// RUN: gantry-opt %s --gantry-form-kernels -split-input-file | FileCheck %s

// Attention is one kernel on CPUs: transposes of its operands and of its result, what the queries are
// multiplied by, scale and softmax.
// CHECK-LABEL: @heads(
// CHECK: gantry.launch @kernels_cpu::@div_matmul_div_softmax_and_1_0(%arg0, %arg1, %arg2)
// CHECK-NOT: gantry.launch @
// CHECK: return
func.func @heads(%q: tensor<32x2x16xf32>, %k: tensor<32x2x16xf32>, %v: tensor<32x2x16xf32>) -> tensor<32x2x16xf32> {
  %c = gantry.constant dense<4.0> : tensor<f32>
  %qt = gantry.transpose %q {permutation = array<i64: 1, 0, 2>} : (tensor<32x2x16xf32>) -> tensor<2x32x16xf32>
  %qs = gantry.div %qt, %c : (tensor<2x32x16xf32>, tensor<f32>) -> tensor<2x32x16xf32>
  %kt = gantry.transpose %k {permutation = array<i64: 1, 2, 0>} : (tensor<32x2x16xf32>) -> tensor<2x16x32xf32>
  %vt = gantry.transpose %v {permutation = array<i64: 1, 0, 2>} : (tensor<32x2x16xf32>) -> tensor<2x32x16xf32>
  %s = gantry.matmul %qs, %kt : (tensor<2x32x16xf32>, tensor<2x16x32xf32>) -> tensor<2x32x32xf32>
  %d = gantry.div %s, %c : (tensor<2x32x32xf32>, tensor<f32>) -> tensor<2x32x32xf32>
  %p = gantry.softmax %d {axis = 2 : i64} : (tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
  %o = gantry.matmul %p, %vt : (tensor<2x32x32xf32>, tensor<2x32x16xf32>) -> tensor<2x32x16xf32>
  %t = gantry.transpose %o {permutation = array<i64: 1, 0, 2>} : (tensor<2x32x16xf32>) -> tensor<32x2x16xf32>
  return %t : tensor<32x2x16xf32>
}

// -----

// Weights that somebody else reads, too, are wanted in memory: none of it joins.
// CHECK-LABEL: @shown(
// CHECK: gantry.launch @kernels_cpu::@matmul_
// CHECK: gantry.launch @kernels_cpu::@softmax_
// CHECK: gantry.launch @kernels_cpu::@matmul_
func.func @shown(%q: tensor<2x32x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<2x32x16xf32>) -> (tensor<2x32x16xf32>, tensor<2x32x32xf32>) {
  %s = gantry.matmul %q, %k : (tensor<2x32x16xf32>, tensor<2x16x32xf32>) -> tensor<2x32x32xf32>
  %p = gantry.softmax %s {axis = 2 : i64} : (tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
  %o = gantry.matmul %p, %v : (tensor<2x32x32xf32>, tensor<2x32x16xf32>) -> tensor<2x32x16xf32>
  return %o, %p : tensor<2x32x16xf32>, tensor<2x32x32xf32>
}

// -----

// So is that of a single query, whose keys are better read where they lie.
// CHECK-LABEL: @step(
// CHECK: gantry.launch @kernels_cpu::@matmul_
// CHECK: gantry.launch @kernels_cpu::@softmax_
// CHECK: gantry.launch @kernels_cpu::@matmul_
func.func @step(%q: tensor<2x1x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<2x32x16xf32>) -> tensor<2x1x16xf32> {
  %s = gantry.matmul %q, %k : (tensor<2x1x16xf32>, tensor<2x16x32xf32>) -> tensor<2x1x32xf32>
  %p = gantry.softmax %s {axis = 2 : i64} : (tensor<2x1x32xf32>) -> tensor<2x1x32xf32>
  %o = gantry.matmul %p, %v : (tensor<2x1x32xf32>, tensor<2x32x16xf32>) -> tensor<2x1x16xf32>
  return %o : tensor<2x1x16xf32>
}

// -----

// Queries, keys and values of one product: the kernel reads their parts where they are.
// CHECK-LABEL: @parts(
// CHECK: %[[OUT:.*]] = gantry.launch @kernels_cpu::@matmul_softmax_matmul_0(%arg0)
// CHECK-NOT: gantry.launch @
// CHECK: return %[[OUT]]
func.func @parts(%qkv: tensor<32x6x16xf32>) -> tensor<32x2x16xf32> {
  %q = gantry.slice %qkv {starts = array<i64: 0, 0, 0>, sizes = array<i64: 32, 2, 16>, steps = array<i64: 1, 1, 1>} : (tensor<32x6x16xf32>) -> tensor<32x2x16xf32>
  %k = gantry.slice %qkv {starts = array<i64: 0, 2, 0>, sizes = array<i64: 32, 2, 16>, steps = array<i64: 1, 1, 1>} : (tensor<32x6x16xf32>) -> tensor<32x2x16xf32>
  %v = gantry.slice %qkv {starts = array<i64: 0, 4, 0>, sizes = array<i64: 32, 2, 16>, steps = array<i64: 1, 1, 1>} : (tensor<32x6x16xf32>) -> tensor<32x2x16xf32>
  %qt = gantry.transpose %q {permutation = array<i64: 1, 0, 2>} : (tensor<32x2x16xf32>) -> tensor<2x32x16xf32>
  %kt = gantry.transpose %k {permutation = array<i64: 1, 2, 0>} : (tensor<32x2x16xf32>) -> tensor<2x16x32xf32>
  %vt = gantry.transpose %v {permutation = array<i64: 1, 0, 2>} : (tensor<32x2x16xf32>) -> tensor<2x32x16xf32>
  %s = gantry.matmul %qt, %kt : (tensor<2x32x16xf32>, tensor<2x16x32xf32>) -> tensor<2x32x32xf32>
  %p = gantry.softmax %s {axis = 2 : i64} : (tensor<2x32x32xf32>) -> tensor<2x32x32xf32>
  %o = gantry.matmul %p, %vt : (tensor<2x32x32xf32>, tensor<2x32x16xf32>) -> tensor<2x32x16xf32>
  %t = gantry.transpose %o {permutation = array<i64: 1, 0, 2>} : (tensor<2x32x16xf32>) -> tensor<32x2x16xf32>
  return %t : tensor<32x2x16xf32>
}
