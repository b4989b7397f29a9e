// Attention of f16 and bf16 on tensor cores, in one pass along the keys.
// RUN: gantry-opt %s --gantry-emit-gpu-lines --canonicalize --cse -split-input-file | FileCheck %s
// RUN: gantry-opt %s --gantry-emit-gpu-lines --canonicalize --cse -split-input-file | FileCheck %s --check-prefix=REST

// Queries pass through the memory of the keys into registers. The next tile is on its way while one is multiplied:
// all but the last group of copies have to be there. Weights are rounded; ones beside the values add them up. What is
// hidden from all queries of a block is not read.
// CHECK-LABEL: func.func private @causal(
// CHECK-DAG: %[[ONES:[^ ]*]] = arith.constant 1065369472 : i32
// CHECK-DAG: memref.alloc() {{.*}}xbf16, #gpu.address_space<workgroup>>
// CHECK: nvvm.cp.async.shared.global {{.*}}, 16, cache = {{ *}}cg
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: gpu.barrier
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>
// CHECK: gpu.barrier
// CHECK: arith.minui {{.*}}%c200
// CHECK: scf.for
// CHECK: scf.if
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 1
// CHECK-NEXT: gpu.barrier
// CHECK: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK: gpu.shuffle{{ +}}xor
// CHECK: math.exp
// CHECK: arith.truncf {{.*}} : f32 to bf16
// CHECK: nvvm.mma.sync {{.*}} B[%[[ONES]], %[[ONES]]]
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>
// CHECK: gpu.barrier
// CHECK: arith.divf
module attributes {gantry.target = #gantry.target<"cuda", machines = ["sm_90", "sm_80"]>} {
  gantry.kernel @causal {
  ^bb0(%q: tensor<2x128x64xbf16>, %k: tensor<2x200x64xbf16>, %v: tensor<2x200x48xbf16>):
    %y = gantry.attention %q, %k, %v {causal, scale = 0.125 : f64} : (tensor<2x128x64xbf16>, tensor<2x200x64xbf16>, tensor<2x200x48xbf16>) -> tensor<2x128x48xbf16>
    gantry.yield %y : tensor<2x128x48xbf16>
  }
}

// -----

// Rows of an odd number of elements cannot be copied so: threads read and write them.
// CHECK-LABEL: func.func private @odd(
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: memref.load {{.*}} : memref<66xf16>
// CHECK: arith.select
// CHECK: nvvm.mma.sync
module attributes {gantry.target = #gantry.target<"cuda", machines = ["sm_80"]>} {
  gantry.kernel @odd {
  ^bb0(%q: tensor<2x33xf16>, %k: tensor<2x33xf16>, %v: tensor<2x33xf16>):
    %y = gantry.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<2x33xf16>, tensor<2x33xf16>, tensor<2x33xf16>) -> tensor<2x33xf16>
    gantry.yield %y : tensor<2x33xf16>
  }
}

// -----

// Older GPUs, wider queries than registers hold, and f32 have lanes. No queries: nothing to do.
// REST-LABEL: func.func private @old(
// REST-NOT: nvvm.
// REST: scf.for
// REST-NOT: nvvm.
// REST-LABEL: func.func private @wide(
// REST-NOT: nvvm.
// REST: scf.for
// REST-NOT: nvvm.
// REST-LABEL: func.func private @whole(
// REST-NOT: nvvm.
// REST: scf.for
// REST-NOT: nvvm.
// REST-LABEL: func.func private @none(
// REST-NEXT: return
module attributes {gantry.target = #gantry.target<"cuda", machines = ["sm_90", "sm_75"]>} {
  gantry.kernel @old {
  ^bb0(%q: tensor<2x32xf16>, %k: tensor<2x32xf16>, %v: tensor<2x32xf16>):
    %y = gantry.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<2x32xf16>, tensor<2x32xf16>, tensor<2x32xf16>) -> tensor<2x32xf16>
    gantry.yield %y : tensor<2x32xf16>
  }
}

// -----

module attributes {gantry.target = #gantry.target<"cuda", machines = ["sm_90"]>} {
  gantry.kernel @wide {
  ^bb0(%q: tensor<2x130xf16>, %k: tensor<2x130xf16>, %v: tensor<2x32xf16>):
    %y = gantry.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<2x130xf16>, tensor<2x130xf16>, tensor<2x32xf16>) -> tensor<2x32xf16>
    gantry.yield %y : tensor<2x32xf16>
  }
  gantry.kernel @whole {
  ^bb0(%q: tensor<2x32xf32>, %k: tensor<2x32xf32>, %v: tensor<2x32xf32>):
    %y = gantry.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<2x32xf32>, tensor<2x32xf32>, tensor<2x32xf32>) -> tensor<2x32xf32>
    gantry.yield %y : tensor<2x32xf32>
  }
  gantry.kernel @none {
  ^bb0(%q: tensor<0x32xf16>, %k: tensor<2x32xf16>, %v: tensor<2x32xf16>):
    %y = gantry.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<0x32xf16>, tensor<2x32xf16>, tensor<2x32xf16>) -> tensor<0x32xf16>
    gantry.yield %y : tensor<0x32xf16>
  }
}
