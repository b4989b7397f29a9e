// Where values of a batch take the room, the batch goes through them in pieces, with the same bits: on a GPU, and on a
// CPU, which has no host for its weights.
// RUN: bash -c "gantry compile %s --devices=CPU:0,GPU:0@1600KiB --simulate -o %t.gantry; test \$? = 3" 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: the plan needs {{.*}} the limit is 1.56 MiB
// RUN: gantry compile %s --devices=CPU:0,GPU:0@1600KiB --simulate --over-limit=fix -o %t.gantry 2>&1 | FileCheck %s
// CHECK-NOT: error
// CHECK: remark: {{.*}}over-limit-batch.mlir:{{[0-9]+}}:8: over the limit: GPU:0: 5 ops from 'MatMul/y.0.0.0.0' to 'MatMul/y' run once for each of 2 pieces of the batch
// CHECK: remark: over the limit: GPU:0: where most memory is in use the batch runs in {{[0-9]+}} pieces: saves {{.*}}, adds {{.*}} per run
// RUN: gantry explain %t.gantry | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: constraint: over the limit: GPU:0: where most memory is in use the batch runs in {{[0-9]+}} pieces

// RUN: gantry run %s --devices=CPU:0,GPU:0 --simulate --fill ramp --output y=%t.1.npy
// RUN: gantry run %t.gantry --fill ramp --output y=%t.2.npy
// RUN: gantry run %t.gantry --fill ramp --sim-order=random:7 --output y=%t.3.npy
// RUN: gantry compile %s --devices=CPU:0@2MiB --over-limit=fix -o %t.cpu.gantry 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: remark: over the limit: CPU:0: where most memory is in use the batch runs in {{[0-9]+}} pieces
// RUN: gantry run %t.cpu.gantry --fill ramp --output y=%t.4.npy
// RUN: cmp %t.1.npy %t.2.npy
// RUN: cmp %t.1.npy %t.3.npy
// RUN: cmp %t.1.npy %t.4.npy
func.func @main(%x: tensor<256x64xf32> {gantry.name = "x"}) -> (tensor<256x64xf32> {gantry.name = "y"}) {
  %up = gantry.constant dense<0.01> : tensor<64x1024xf32>
  %wide = gantry.constant dense<0.02> : tensor<1024xf32>
  %down = gantry.constant dense<0.03> : tensor<1024x64xf32>
  %a = gantry.matmul %x, %up : (tensor<256x64xf32>, tensor<64x1024xf32>) -> tensor<256x1024xf32>
  %b = gantry.softmax %a {axis = 1 : i64} : (tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %c = gantry.cumsum %b {axis = 1 : i64} : (tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %d = gantry.mul %c, %wide : (tensor<256x1024xf32>, tensor<1024xf32>) -> tensor<256x1024xf32>
  %y = gantry.matmul %d, %down : (tensor<256x1024xf32>, tensor<1024x64xf32>) -> tensor<256x64xf32>
  return %y : tensor<256x64xf32>
}
