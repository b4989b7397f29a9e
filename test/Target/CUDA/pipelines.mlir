// From kernels of gantry ops to NVIDIA's part of the LLVM dialect.

// RUN: gantry-opt %s --gantry-cuda-kernel-pipeline --gantry-nvvm-pipeline | FileCheck %s --implicit-check-not=unrealized_conversion_cast --implicit-check-not='fastmath<{{nsz[^>]|n[^s]|[^n]}}'
// RUN: gantry-opt %s --gantry-cuda-kernel-pipeline --gantry-nvvm-pipeline --gantry-lower-to-nvvm | FileCheck %s

// Indices have 32 bits, a block its shared memory, products are added in one operation.
// CHECK: gpu.module @narrow
// CHECK: llvm.mlir.global internal @{{.*}}normalise{{.*}} {addr_space = 3 : i32}
// CHECK: llvm.func @normalise(%{{.*}}: !llvm.ptr {llvm.align = 16 : i64, llvm.noalias}
// CHECK-SAME: nvvm.kernel
// CHECK: nvvm.read.ptx.sreg.tid.x range <i32, 0, 256> : i32
// CHECK: nvvm.shfl.sync bfly
// CHECK: nvvm.barrier
gantry.kernel @normalise {
^bb0(%x: tensor<4x4096xf32>):
  %0 = gantry.softmax %x {axis = 1 : i64} : (tensor<4x4096xf32>) -> tensor<4x4096xf32>
  gantry.yield %0 : tensor<4x4096xf32>
}

// CHECK: llvm.func @multiply(
// CHECK: {{llvm.intr.fma|@__nv_fmaf}}
gantry.kernel @multiply {
^bb0(%x: tensor<4x100xf32>, %w: tensor<100x8xf32>):
  %0 = gantry.matmul %x, %w : (tensor<4x100xf32>, tensor<100x8xf32>) -> tensor<4x8xf32>
  gantry.yield %0 : tensor<4x8xf32>
}
