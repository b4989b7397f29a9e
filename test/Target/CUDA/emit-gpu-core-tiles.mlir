// RUN: gantry-opt %s --gantry-emit-gpu-threads --canonicalize --cse -split-input-file | FileCheck %s --implicit-check-not=linalg. --implicit-check-not=tensor.

// From sm_80 on tensor cores multiply 16 bits, here through registers. Rows of the left side lie along the terms in memory and
// are loaded as they are; the right side is turned by the load. Sums are f32, narrowed when they are complete.
// CHECK-LABEL: func.func private @halves(
// CHECK-DAG: memref.alloc() {{.*}}xf16, #gpu.address_space<workgroup>>
// CHECK: vector.store {{.*}} vector<8xf16>
// CHECK: gpu.barrier
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>
// CHECK: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK: arith.truncf
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
module attributes {gantry.target = #gantry.target<"cuda", machines = ["sm_90", "sm_80"]>, gantry.targets = #gantry.targets<stages = 0>} {
  func.func private @halves(%x: tensor<256x64xf16>, %w: tensor<64x256xf16>) -> tensor<256x256xf16> {
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<256x256xf32>
    %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x256xf32>) -> tensor<256x256xf32>
    %sum = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<256x64xf16>, tensor<64x256xf16>) outs(%start : tensor<256x256xf32>) {
    ^bb0(%a: f16, %b: f16, %c: f32):
      %0 = arith.extf %a : f16 to f32
      %1 = arith.extf %b : f16 to f32
      %2 = arith.mulf %0, %1 fastmath<contract> : f32
      %3 = arith.addf %c, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<256x256xf32>
    %narrow = tensor.empty() : tensor<256x256xf16>
    %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%sum : tensor<256x256xf32>) outs(%narrow : tensor<256x256xf16>) {
    ^bb0(%a: f32, %b: f16):
      %0 = arith.truncf %a : f32 to f16
      linalg.yield %0 : f16
    } -> tensor<256x256xf16>
    return %y : tensor<256x256xf16>
  }
}

// -----

// f32 becomes tf32 only when the graph is compiled for that.
// CHECK-LABEL: func.func private @rounded(
// CHECK: nvvm.convert.float.to.tf32
// CHECK: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 8>
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
module attributes {gantry.target = #gantry.target<"cuda", machines = ["sm_80"], math = tf32>} {
  func.func private @rounded(%x: tensor<256x64xf32>, %w: tensor<64x256xf32>) -> tensor<256x256xf32> {
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
