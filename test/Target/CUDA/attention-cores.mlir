// Attention of bf16 that is written as ops is one kernel on GPUs with tensor cores: scores and weights are in shared
// memory, in bf16 as the ops have them, and both products are the cores'.
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --gpu-arch=sm_80 --stop-after=fuse -o - | FileCheck %s --check-prefix=FUSE
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --gpu-arch=sm_75 --stop-after=fuse -o - | FileCheck %s --check-prefix=OLD
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --gpu-arch=sm_80 --stop-after=kernel -o - | FileCheck %s
// RUN: gantry compile %s --entry=single --devices=CPU:0,GPU:0 --gpu-arch=sm_80 --math=tf32 --stop-after=kernel -o - | FileCheck %s --check-prefix=TF32

// FUSE: gantry.kernel @{{.*}}softmax{{.*}} {
// FUSE-NOT: gantry.kernel
// FUSE: gantry.matmul
// FUSE: gantry.softmax
// FUSE: gantry.matmul
// FUSE-NOT: gantry.kernel
// OLD-COUNT-3: gantry.kernel @

// CHECK: memref.alloc() {{.*}}xbf16, #gpu.address_space<workgroup>>
// CHECK: nvvm.mma.sync
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: gpu.barrier
// CHECK: gpu.shuffle{{ +}}xor
// CHECK: math.exp
// CHECK: gpu.barrier
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>
// CHECK: nvvm.mma.sync
func.func @main(%q: tensor<1x128x12x64xbf16>, %k: tensor<1x128x12x64xbf16>, %v: tensor<1x128x12x64xbf16>, %m: tensor<1x1x1x128xbf16>) -> tensor<1x12x128x64xbf16> {
  %0 = gantry.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x128x12x64xbf16>) -> tensor<1x12x128x64xbf16>
  %1 = gantry.transpose %k {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x128x12x64xbf16>) -> tensor<1x12x64x128xbf16>
  %2 = gantry.transpose %v {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x128x12x64xbf16>) -> tensor<1x12x128x64xbf16>
  %3 = gantry.matmul %0, %1 : (tensor<1x12x128x64xbf16>, tensor<1x12x64x128xbf16>) -> tensor<1x12x128x128xbf16>
  %4 = gantry.add %3, %m : (tensor<1x12x128x128xbf16>, tensor<1x1x1x128xbf16>) -> tensor<1x12x128x128xbf16>
  %5 = gantry.softmax %4 {axis = 3 : i64} : (tensor<1x12x128x128xbf16>) -> tensor<1x12x128x128xbf16>
  %6 = gantry.matmul %5, %2 : (tensor<1x12x128x128xbf16>, tensor<1x12x128x64xbf16>) -> tensor<1x12x128x64xbf16>
  return %6 : tensor<1x12x128x64xbf16>
}

// TF32: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 8>
// TF32: math.exp
// TF32: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 8>
func.func @single(%q: tensor<12x128x64xf32>, %k: tensor<12x64x128xf32>, %v: tensor<12x128x64xf32>) -> tensor<12x128x64xf32> {
  %0 = gantry.matmul %q, %k : (tensor<12x128x64xf32>, tensor<12x64x128xf32>) -> tensor<12x128x128xf32>
  %1 = gantry.softmax %0 {axis = 2 : i64} : (tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
  %2 = gantry.matmul %1, %v : (tensor<12x128x128xf32>, tensor<12x128x64xf32>) -> tensor<12x128x64xf32>
  return %2 : tensor<12x128x64xf32>
}
