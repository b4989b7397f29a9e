// What is cheap is computed again in front of a late reader instead of being held where most is.
// RUN: gantry-opt %s --gantry-recompute-values="bytes=0,100000" --split-input-file | FileCheck %s
// RUN: gantry-opt %s --gantry-recompute-values="bytes=100000,0" --split-input-file | FileCheck %s --check-prefix=NONE
// NONE-NOT: /again

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// A forward and a backward pass: of what the backward pass reads, the product is held, and both elementwise ops behind it,
// views among them, are computed again. What the fullest op reads itself stays.
// CHECK-LABEL: func.func @training(
// CHECK-SAME: %[[X:[^:]*]]: tensor<64x64xf32>
// CHECK: %[[Z:.*]] = gantry.matmul %[[X]], {{.*}}name = "z"
// CHECK: %[[S:.*]] = gantry.sigmoid %[[Z]] {{.*}}name = "s"
// CHECK: %[[A:.*]] = gantry.mul %[[Z]], %[[S]] {{.*}}name = "a"
// CHECK: %[[W:.*]] = gantry.matmul %[[A]], {{.*}}name = "wide"
// CHECK: %[[B:.*]] = gantry.matmul %[[W]], {{.*}}name = "b"
// CHECK-NOT: gantry.name = "s"
// CHECK: %[[S2:.*]] = gantry.sigmoid %[[Z]] {{.*}}name = "s/again_0"
// CHECK-NEXT: %[[A2:.*]] = gantry.mul %[[Z]], %[[S2]] {{.*}}name = "a/again_0"
// CHECK-NEXT: %[[V2:.*]] = gantry.reshape %[[A2]]
// CHECK-NEXT: gantry.mul %{{.*}}, %[[V2]] {{.*}}name = "da"
// CHECK: gantry.add {{.*}}, %[[Z]] {{.*}}name = "dz"
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "sim", name = "/physical_device:GPU:0"}],
    logical = [{physical = 0}, {physical = 1}]}>} {
  func.func @training(%x: tensor<64x64xf32> {gantry.device = #gpu}) -> (tensor<64x64xf32> {gantry.device = #gpu}) {
    %w1 = gantry.constant dense<1.0> : tensor<64x64xf32>
    %w2 = gantry.constant dense<2.0> : tensor<64x512xf32>
    %w3 = gantry.constant dense<3.0> : tensor<512x64xf32>
    %z = gantry.matmul %x, %w1 {gantry.device = #gpu, gantry.name = "z"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %s = gantry.sigmoid %z {gantry.device = #gpu, gantry.name = "s"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %a = gantry.mul %z, %s {gantry.device = #gpu, gantry.name = "a"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %v = gantry.reshape %a : (tensor<64x64xf32>) -> tensor<4096xf32>
    %wide = gantry.matmul %a, %w2 {gantry.device = #gpu, gantry.name = "wide"} : (tensor<64x64xf32>, tensor<64x512xf32>) -> tensor<64x512xf32>
    %b = gantry.matmul %wide, %w3 {gantry.device = #gpu, gantry.name = "b"} : (tensor<64x512xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
    %c = gantry.tanh %b {gantry.device = #gpu, gantry.name = "c"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %cv = gantry.reshape %c : (tensor<64x64xf32>) -> tensor<4096xf32>
    %da = gantry.mul %cv, %v {gantry.device = #gpu, gantry.name = "da"} : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %dv = gantry.reshape %da : (tensor<4096xf32>) -> tensor<64x64xf32>
    %dz = gantry.add %dv, %z {gantry.device = #gpu, gantry.name = "dz"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %dz : tensor<64x64xf32>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// A product is not cheap, and what nothing else holds is no better than what is made of it.
// CHECK-LABEL: func.func @dear(
// CHECK-NOT: /again
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "sim", name = "/physical_device:GPU:0"}],
    logical = [{physical = 0}, {physical = 1}]}>} {
  func.func @dear(%x: tensor<64x64xf32> {gantry.device = #gpu}) -> (tensor<64x64xf32> {gantry.device = #gpu}) {
    %w1 = gantry.constant dense<1.0> : tensor<64x64xf32>
    %w2 = gantry.constant dense<2.0> : tensor<64x512xf32>
    %w3 = gantry.constant dense<3.0> : tensor<512x64xf32>
    %z = gantry.matmul %x, %w1 {gantry.device = #gpu, gantry.name = "z"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %a = gantry.tanh %z {gantry.device = #gpu, gantry.name = "a"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %wide = gantry.matmul %a, %w2 {gantry.device = #gpu, gantry.name = "wide"} : (tensor<64x64xf32>, tensor<64x512xf32>) -> tensor<64x512xf32>
    %b = gantry.matmul %wide, %w3 {gantry.device = #gpu, gantry.name = "b"} : (tensor<64x512xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
    %c = gantry.add %a, %b {gantry.device = #gpu, gantry.name = "c"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %c : tensor<64x64xf32>
  }
}
