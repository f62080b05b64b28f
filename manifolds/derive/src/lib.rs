//! `#[derive(Module)]`: the walk over the parameters of a struct or an enum, written from its fields.
//!
//! It is documented where it is used, at `cotangent_manifolds::Module`.

#![forbid(unsafe_code)]

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, Ident, Path, Result, Type, TypeParamBound, parse_quote};

/// Implements `Module`: every field is visited, in order, under its name.
#[proc_macro_derive(Module, attributes(module))]
pub fn module(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    implementation(input).unwrap_or_else(Error::into_compile_error).into()
}

fn implementation(input: DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let home = home(&input)?;
    let mut types = Vec::new();
    let variants = match &input.data {
        Data::Struct(data) => vec![Walk::new(quote!(Self), &data.fields, false, &mut types)?],
        Data::Enum(data) if data.variants.is_empty() => {
            return Err(Error::new(name.span(), "an enum without variants has nothing to visit"));
        }
        Data::Enum(data) => data
            .variants
            .iter()
            .map(|variant| {
                let ident = &variant.ident;
                Walk::new(quote!(Self::#ident), &variant.fields, true, &mut types)
            })
            .collect::<Result<_>>()?,
        Data::Union(_) => return Err(Error::new(name.span(), "a union cannot be a module")),
    };

    let mut generics = input.generics.clone();
    let (_, type_generics, _) = input.generics.split_for_impl();
    let element = element_of(&input).unwrap_or_else(|| {
        let element = Ident::new("CotangentElement", Span::mixed_site());
        generics.params.push(parse_quote!(#element: #home::Float));
        element
    });
    if !types.is_empty() {
        let bounds = &mut generics.make_where_clause().predicates;
        bounds.extend(
            types
                .iter()
                .map(|field| -> syn::WherePredicate { parse_quote!(#field: #home::Module<#element>) }),
        );
    }
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let read = variants.iter().map(|variant| variant.arm(&home, &element, "visit"));
    let write = variants.iter().map(|variant| variant.arm(&home, &element, "visit_mut"));
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics #home::Module<#element> for #name #type_generics #where_clause {
            fn visit<V: #home::Visitor<#element>>(&self, path: &mut #home::Path, visitor: &mut V) {
                let _ = (&path, &visitor);
                match self { #(#read)* }
            }
            fn visit_mut<V: #home::VisitorMut<#element>>(&mut self, path: &mut #home::Path, visitor: &mut V) {
                let _ = (&path, &visitor);
                match self { #(#write)* }
            }
        }
    })
}

/// The module that has the trait: `::cotangent::module`, or another crate's by `#[module(crate = path)]`.
fn home(input: &DeriveInput) -> Result<TokenStream> {
    let mut home = quote!(::cotangent::module);
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("module")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("the only option of a type is `crate`: #[module(crate = cotangent)]"));
            }
            let path = meta.value()?.call(Path::parse_mod_style)?;
            home = quote!(#path::module);
            Ok(())
        })?;
    }
    Ok(home)
}

/// The type parameter that is the parameters' element type: the one with the bound `Float`.
fn element_of(input: &DeriveInput) -> Option<Ident> {
    let is_float = |bounds: &Punctuated<TypeParamBound, syn::Token![+]>| {
        bounds.iter().any(|bound| {
            matches!(bound, TypeParamBound::Trait(bound)
                if bound.path.segments.last().is_some_and(|segment| segment.ident == "Float"))
        })
    };
    let in_where = |name: &Ident| {
        input.generics.where_clause.iter().flat_map(|clause| &clause.predicates).any(|predicate| {
            matches!(predicate, syn::WherePredicate::Type(predicate)
                if is_float(&predicate.bounds)
                    && matches!(&predicate.bounded_ty, Type::Path(bounded) if bounded.path.is_ident(name)))
        })
    };
    let found = input.generics.type_params().find(|param| is_float(&param.bounds) || in_where(&param.ident));
    found.map(|param| param.ident.clone())
}

/// The fields of a struct or of a variant that are visited.
struct Walk {
    pattern: TokenStream,
    /// The variable of each field, and its name in paths. Without a name it adds nothing to the path.
    fields: Vec<(Ident, Option<String>)>,
}

impl Walk {
    /// Adds to `types` those of the fields that are visited.
    fn new(constructor: TokenStream, fields: &Fields, variant: bool, types: &mut Vec<Type>) -> Result<Self> {
        // The content of `Encoder::Gru(gru)` is what a path names, not its place in the variant.
        let transparent = variant && fields.len() == 1 && matches!(fields, Fields::Unnamed(_));
        let (mut members, mut visited) = (Vec::new(), Vec::new());
        for (i, (member, field)) in fields.members().zip(fields).enumerate() {
            if skipped(field)? {
                continue;
            }
            let variable = format_ident!("field_{i}", span = Span::mixed_site());
            let name = match &field.ident {
                Some(ident) => ident.unraw().to_string(),
                None => i.to_string(),
            };
            members.push(quote!(#member: #variable));
            visited.push((variable, (!transparent).then_some(name)));
            types.push(field.ty.clone());
        }
        Ok(Walk { pattern: quote!(#constructor { #(#members,)* .. }), fields: visited })
    }

    fn arm(&self, home: &TokenStream, element: &Ident, method: &str) -> TokenStream {
        let (pattern, method) = (&self.pattern, Ident::new(method, Span::call_site()));
        let visits = self.fields.iter().map(|(variable, name)| {
            let visit = quote!(#home::Module::<#element>::#method(#variable, path, visitor));
            match name {
                Some(name) => quote!(path.within(#name, |path| #visit);),
                None => quote!(#visit;),
            }
        });
        quote!(#pattern => { #(#visits)* })
    }
}

/// Whether a field is marked `#[module(skip)]`.
fn skipped(field: &syn::Field) -> Result<bool> {
    let mut skipped = false;
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("module")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("skip") {
                return Err(Error::new(
                    meta.path.span(),
                    "the only option of a field is `skip`: #[module(skip)]",
                ));
            }
            skipped = true;
            Ok(())
        })?;
    }
    Ok(skipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What cannot be a module is refused, and so are attributes that are not known.
    #[test]
    fn errors_say_what_is_wrong() {
        let message = |input: DeriveInput| implementation(input).unwrap_err().to_string();
        assert_eq!(message(parse_quote!(union U { a: f32 })), "a union cannot be a module");
        assert_eq!(
            message(parse_quote!(
                enum E {}
            )),
            "an enum without variants has nothing to visit"
        );
        let field = message(parse_quote!(
            struct S {
                #[module(tie)]
                a: f32,
            }
        ));
        assert_eq!(field, "the only option of a field is `skip`: #[module(skip)]");
        let path = message(parse_quote!(
            #[module(path = "x")]
            struct S {
                a: f32,
            }
        ));
        assert_eq!(path, "the only option of a type is `crate`: #[module(crate = cotangent)]");
    }
}
