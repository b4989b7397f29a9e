// A way there and one back: what an op behind a product made is computed again on the way back, with the same bits. Products that go over rows leave no pieces of the batch.
// RUN: bash -c "gantry compile %s --devices=CPU:0,GPU:0@2400KiB --simulate -o %t.gantry; test \$? = 3"
// RUN: gantry compile %s --devices=CPU:0,GPU:0@2400KiB --simulate --over-limit=fix -o %t.gantry 2>&1 | FileCheck %s
// CHECK-NOT: error
// CHECK: remark: over the limit: GPU:0: an op runs again for a value that is read late: saves 256 KiB, adds {{.*}} per run; predicted {{.*}} -> {{.*}} per run (1.0{{[0-9]}}x)
// RUN: gantry explain %t.gantry | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: constraint: over the limit: GPU:0: an op runs again for a value that is read late
// RUN: gantry explain %t.gantry --json | FileCheck %s --check-prefix=LOG
// LOG: /again_0
// RUN: gantry run %s --devices=CPU:0,GPU:0 --simulate --fill ramp --output y=%t.1.npy
// RUN: gantry run %t.gantry --fill ramp --output y=%t.2.npy
// RUN: gantry run %t.gantry --fill ramp --sim-order=random:7 --output y=%t.3.npy
// RUN: cmp %t.1.npy %t.2.npy
// RUN: cmp %t.1.npy %t.3.npy
func.func @main(%x: tensor<256x256xf32> {gantry.name = "x"}) -> (tensor<256x256xf32> {gantry.name = "y"}) {
  %w0 = gantry.constant dense<0.001> : tensor<256x256xf32>
  %w1 = gantry.constant dense<0.002> : tensor<256x256xf32>
  %w2 = gantry.constant dense<0.003> : tensor<256x256xf32>
  %z0 = gantry.matmul %x, %w0 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %s0 = gantry.sigmoid %z0 : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %a0 = gantry.mul %z0, %s0 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %z1 = gantry.matmul %a0, %w1 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %s1 = gantry.sigmoid %z1 : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %a1 = gantry.mul %z1, %s1 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %z2 = gantry.matmul %a1, %w2 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %s2 = gantry.sigmoid %z2 : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %a2 = gantry.mul %z2, %s2 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %m2 = gantry.mul %a2, %z2 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %g2 = gantry.matmul %a1, %m2 {transpose_a} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %d2 = gantry.matmul %g2, %m2 {transpose_b} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %m1 = gantry.mul %d2, %z1 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %g1 = gantry.matmul %a0, %m1 {transpose_a} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %d1 = gantry.matmul %g1, %m1 {transpose_b} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %m0 = gantry.mul %d1, %z0 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %g0 = gantry.matmul %x, %m0 {transpose_a} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %d0 = gantry.matmul %g0, %m0 {transpose_b} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %d0 : tensor<256x256xf32>
}
