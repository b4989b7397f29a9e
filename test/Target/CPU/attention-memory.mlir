// Keys and values of an item are packed on its stack as long as all that it works in fits there: 197 keys do, and the
// plan has no memory for them; 260 do not, and each of the 12 items has its part.
// RUN: gantry compile %s --target-cpu=x86-64-v4 --stop-after=kernel -o - | FileCheck %s

// CHECK-LABEL: func.func private @attention_0(
// CHECK-SAME: #gantry.work<items = 12>
// CHECK: memref.alloca() {{.*}} : memref<1x26944xf32>
// CHECK-LABEL: func.func private @attention_1(
// CHECK-SAME: #gantry.work<items = 12, scratch = 1683456>
module {
  func.func @main(%q: tensor<12x197x64xf32>, %k: tensor<12x260x64xf32>)
      -> (tensor<12x197x64xf32>, tensor<12x197x64xf32>) {
    %short = gantry.attention %q, %q, %q {scale = 0.125 : f64} : (tensor<12x197x64xf32>, tensor<12x197x64xf32>, tensor<12x197x64xf32>) -> tensor<12x197x64xf32>
    %long = gantry.attention %q, %k, %k {scale = 0.125 : f64} : (tensor<12x197x64xf32>, tensor<12x260x64xf32>, tensor<12x260x64xf32>) -> tensor<12x197x64xf32>
    return %short, %long : tensor<12x197x64xf32>, tensor<12x197x64xf32>
  }
}
