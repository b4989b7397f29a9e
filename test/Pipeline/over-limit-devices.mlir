// Weights of products in a row go to the second GPU, with the ops that read them: one value goes there and one comes back,
// which takes less than to bring weights in. With the same bits.
// RUN: bash -c "gantry compile %s --devices=CPU:0,GPU:0@4MiB,GPU:1 --simulate -o %t.gantry; test \$? = 3"
// RUN: gantry compile %s --devices=CPU:0,GPU:0@4MiB,GPU:1 --simulate --over-limit=fix -o %t.gantry 2>&1 | FileCheck %s
// CHECK-NOT: error
// CHECK: remark: over the limit: GPU:1: 3 ops move there, since there is room: saves 3 MiB, adds {{.*}} per run; predicted {{.*}} -> {{.*}} per run ({{.*}}x)
// RUN: gantry explain %t.gantry | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: constraint: over the limit: GPU:1: 3 ops move there, since there is room
// RUN: gantry run %s --devices=CPU:0,GPU:0 --simulate --fill ramp --output y=%t.1.npy
// RUN: gantry run %t.gantry --fill ramp --output y=%t.2.npy
// RUN: gantry run %t.gantry --fill ramp --sim-order=random:7 --output y=%t.3.npy
// RUN: cmp %t.1.npy %t.2.npy
// RUN: cmp %t.1.npy %t.3.npy
func.func @main(%x: tensor<64x512xf32> {gantry.name = "x"}) -> (tensor<64x512xf32> {gantry.name = "y"}) {
  %w0 = gantry.constant dense<0.001> : tensor<512x512xf32>
  %w1 = gantry.constant dense<0.002> : tensor<512x512xf32>
  %w2 = gantry.constant dense<0.003> : tensor<512x512xf32>
  %w3 = gantry.constant dense<0.004> : tensor<512x512xf32>
  %w4 = gantry.constant dense<0.005> : tensor<512x512xf32>
  %w5 = gantry.constant dense<0.006> : tensor<512x512xf32>
  %a0 = gantry.matmul %x, %w0 : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  %a1 = gantry.matmul %a0, %w1 : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  %a2 = gantry.matmul %a1, %w2 : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  %a3 = gantry.matmul %a2, %w3 : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  %a4 = gantry.matmul %a3, %w4 : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  %a5 = gantry.matmul %a4, %w5 : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  return %a5 : tensor<64x512xf32>
}
