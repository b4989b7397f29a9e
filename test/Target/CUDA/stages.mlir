// RUN: gantry-opt %s --gantry-emit-gpu-threads --canonicalize --cse -split-input-file | FileCheck %s --implicit-check-not=linalg. --implicit-check-not=tensor.

// Both sides are copied as they are: no register holds them. Of three stages two are on their way before the first round, each a group;
// a round waits for its own, then for all threads, and asks for the copies of the round after the next before it multiplies.
// Pieces of a line have another place in each.
// CHECK-LABEL: func.func private @staged(
// CHECK-NOT: vector.store
// CHECK: nvvm.cp.async.shared.global {{.*}}, 16, cache = cg
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK-NOT: nvvm.cp.async.commit.group
// CHECK: scf.for
// CHECK: nvvm.cp.async.wait.group 1
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK: nvvm.cp.async.shared.global
// CHECK: }
// CHECK: nvvm.cp.async.commit.group
// CHECK: arith.xori
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.mma.sync
// CHECK-NOT: gpu.barrier
// CHECK: scf.yield
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
module attributes {gantry.target = #gantry.target<"cuda", machines = ["sm_80"]>, gantry.targets = #gantry.targets<stages = 3>} {
  func.func private @staged(%x: tensor<256x512xf16>, %w: tensor<512x256xf16>) -> tensor<256x256xf32> {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<256x256xf32>
    %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x256xf32>) -> tensor<256x256xf32>
    %sum = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<256x512xf16>, tensor<512x256xf16>) outs(%start : tensor<256x256xf32>) {
    ^bb0(%a: f16, %b: f16, %c: f32):
      %0 = arith.extf %a : f16 to f32
      %1 = arith.extf %b : f16 to f32
      %2 = arith.mulf %0, %1 fastmath<contract> : f32
      %3 = arith.addf %c, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<256x256xf32>
    return %sum : tensor<256x256xf32>
  }
}

// -----

// What is copied is rounded to tf32 when it is read, by matrices where lines are of terms.
// CHECK-LABEL: func.func private @rounded_behind(
// CHECK: nvvm.cp.async.shared.global
// CHECK-NOT: nvvm.convert.float.to.tf32
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.convert.float.to.tf32
// CHECK: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 8>
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
module attributes {gantry.target = #gantry.target<"cuda", machines = ["sm_80"], math = tf32>} {
  func.func private @rounded_behind(%x: tensor<256x64xf32>, %w: tensor<64x256xf32>) -> tensor<256x256xf32> {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<256x256xf32>
    %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x256xf32>) -> tensor<256x256xf32>
    %sum = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<256x64xf32>, tensor<64x256xf32>) outs(%start : tensor<256x256xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %2 = arith.mulf %a, %b fastmath<contract> : f32
      %3 = arith.addf %c, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<256x256xf32>
    return %sum : tensor<256x256xf32>
  }
}

// -----

// Rows of an odd number of 16 bits cannot be copied: both sides come through registers.
// CHECK-LABEL: func.func private @odd(
// CHECK-NOT: nvvm.cp.async
// CHECK: nvvm.mma.sync
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
module attributes {gantry.target = #gantry.target<"cuda", machines = ["sm_80"]>} {
  func.func private @odd(%x: tensor<256x65xf16>, %w: tensor<65x256xf16>) -> tensor<256x256xf32> {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<256x256xf32>
    %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x256xf32>) -> tensor<256x256xf32>
    %sum = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<256x65xf16>, tensor<65x256xf16>) outs(%start : tensor<256x256xf32>) {
    ^bb0(%a: f16, %b: f16, %c: f32):
      %0 = arith.extf %a : f16 to f32
      %1 = arith.extf %b : f16 to f32
      %2 = arith.mulf %0, %1 fastmath<contract> : f32
      %3 = arith.addf %c, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<256x256xf32>
    return %sum : tensor<256x256xf32>
  }
}
